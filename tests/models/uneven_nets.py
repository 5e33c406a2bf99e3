"""Float ONNX networks whose channels have ranges that are more or less alike."""

from pathlib import Path

import numpy as np
from onnx import helper
from onnx_files import onnx_file

CHANNELS, SIZE = 12, 8


def uneven_net(path: Path, unlike: float, activation: str = "Relu") -> Path:
    """A convolution, a depthwise one, a pointwise one, a classifier of three.

    Channels of the first are up to exp(unlike) times as large or as small, and the second mends it.
    """
    rng = np.random.default_rng(3)
    spread = np.exp(rng.uniform(-unlike, unlike, CHANNELS))
    constants = {
        "w1": rng.normal(size=(CHANNELS, 2, 3, 3)) * spread[:, None, None, None],
        "b1": rng.normal(size=CHANNELS) * spread,
        "w2": rng.normal(size=(CHANNELS, 1, 3, 3)) / spread[:, None, None, None],
        "b2": rng.normal(size=CHANNELS),
        "w3": rng.normal(size=(8, CHANNELS, 1, 1)),
        "dense": rng.normal(size=(8, 3)),
        "bias": rng.normal(size=3),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["conv1"], pads=[1] * 4),
        helper.make_node(activation, ["conv1"], ["act1"]),
        helper.make_node("Conv", ["act1", "w2", "b2"], ["conv2"], pads=[1] * 4, group=CHANNELS),
        helper.make_node(activation, ["conv2"], ["act2"]),
        helper.make_node("Conv", ["act2", "w3"], ["conv3"]),
        helper.make_node(activation, ["conv3"], ["act3"]),
        helper.make_node("GlobalAveragePool", ["act3"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "bias"], ["y"]),
    ]
    path.write_bytes(onnx_file(nodes, {"x": (1, 2, SIZE, SIZE)}, {"y": (1, 3)}, constants, 13, 7))
    return path


def samples(count: int = 24) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(4).normal(size=(count, 2, SIZE, SIZE)).astype(np.float32)
