"""The files that are damaged: small models made here in both formats, and small ones of others."""

from pathlib import Path

import numpy as np
from one_op_models import models
from tiny_models import TINY

SMALL_BYTES = 60_000  # of the models of others: larger ones take too long to compile


def model_files(shared: Path) -> list[tuple[str, bytes]]:
    """Names and bytes, in a fixed order."""
    files = [(f"{name}.tflite", make()) for name, make in TINY.items()]
    files += [(f"{name}.tflite", data) for name, data in models(1)]
    files += [(f"{name}.onnx", data) for name, data in _onnx_models()]
    return [*files, *((str(path.relative_to(shared)), path.read_bytes()) for path in _of_others(shared))]


def _of_others(shared: Path) -> list[Path]:
    found = [*shared.glob("models/*/model.*"), *sorted(shared.glob("suites/*/*.tflite"))[::25]]
    return sorted(path for path in found if path.stat().st_size < SMALL_BYTES)


def _onnx_models() -> list[tuple[str, bytes]]:
    # An optional package, imported only where ONNX files are made.
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(3)

    def constant(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.normal(0, 1, shape).astype(np.float32), name)

    def model(
        name: str, nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto], *shape: int
    ) -> bytes:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, name, [x], [y], constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return bytes(made.SerializeToString())

    make = helper.make_node
    convolution = model(
        "convolution",
        [
            make("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2], group=1),
            make("Relu", ["a"], ["r"]),
            make("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[1, 1]),
            make("GlobalAveragePool", ["p"], ["g"]),
            make("Flatten", ["g"], ["f"]),
            make("Gemm", ["f", "v"], ["y"], transB=1),
        ],
        [constant("w", 4, 2, 3, 3), constant("b", 4), constant("v", 3, 4)],
        1, 2, 7, 7,
    )  # fmt: skip
    shape = numpy_helper.from_array(np.array([1, -1], np.int64), "shape")
    moving = model(
        "moving",
        [
            make("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            make("Reshape", ["t", "shape"], ["r"]),
            make("Concat", ["r", "r"], ["c"], axis=1),
            make("Softmax", ["c"], ["y"], axis=-1),
        ],
        [shape],
        1, 3, 4,
    )  # fmt: skip
    return [("convolution", convolution), ("moving", moving)]
