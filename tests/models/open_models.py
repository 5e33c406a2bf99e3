"""ONNX models that leave the batch and the length of their input open."""

import numpy as np
from onnx import helper
from onnx_files import onnx_file


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
    return onnx_file(nodes, {"x": ["batch", 4, "length"]}, {"y": ["batch", 5]}, weights)
