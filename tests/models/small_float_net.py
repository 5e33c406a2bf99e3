"""A small float ONNX network, as a framework exports it: to be quantised."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def small_net(
    path: Path, opset: int = 13, shape: tuple[int | str, ...] = ("n", 2, 8, 8), ir_version: int = 7
) -> Path:
    """A convolution with batch normalisation, a pool over the image, a classifier of three."""
    rng = np.random.default_rng(3)
    constants = {
        "w": rng.normal(size=(6, 2, 3, 3)),
        "gamma": rng.uniform(0.5, 2, 6),
        "beta": rng.normal(size=6),
        "mean": rng.normal(size=6),
        "variance": rng.uniform(0.5, 2, 6),
        "dense": rng.normal(size=(6, 3)),
        "bias": rng.normal(size=(1, 3)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["conv", "gamma", "beta", "mean", "variance"], ["norm"]),
        helper.make_node("Relu", ["norm"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "bias"], ["y"]),
    ]
    # Before IR version 4, constants are inputs, too.
    shapes = {"x": shape, **({n: v.shape for n, v in constants.items()} if ir_version < 4 else {})}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    onnx.save(model, path)
    return path
