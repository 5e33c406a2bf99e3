"""ONNX models that leave the batch and the length of their input open."""

import numpy as np
import onnx
from onnx import helper, numpy_helper


def open_convolutions(channels: int = 8) -> bytes:
    """Convolutions over [batch, 4, length], a mean over the length, and a dense layer."""
    rng = np.random.default_rng(3)
    weights = {
        "w1": rng.standard_normal((channels, 4, 3)) / 4,
        "w2": rng.standard_normal((channels, channels, 3)) / 4,
        "w3": rng.standard_normal((5, channels)) / 2,
        "b3": rng.standard_normal(5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["e"]),
        helper.make_node("Flatten", ["e"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "open",
        [value("x", onnx.TensorProto.FLOAT, ["batch", 4, "length"])],
        [value("y", onnx.TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())
