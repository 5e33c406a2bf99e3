"""A small float ONNX network, as a framework exports it: to be quantised."""

from pathlib import Path

import numpy as np
from onnx import helper
from onnx_files import onnx_file


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
    path.write_bytes(onnx_file(nodes, shapes, {"y": None}, constants, opset, ir_version))
    return path
