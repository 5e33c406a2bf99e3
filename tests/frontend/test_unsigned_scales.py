"""Unsigned layers under litert-ref: where LiteRT multiplies scales in single precision, so do we."""

import numpy as np
import pytest
from litert_oracle import run_litert_once
from tflite_builder import ModelBuilder

from aot.frontend.load import parse_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph

CONV = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
# code, version, shape of the weights, shape of the result, options, their fields
LAYERS = {
    "CONV_2D": (3, (16, 1, 1, 4), (1, 8, 8, 16), "Conv2DOptions", CONV),
    "DEPTHWISE_CONV_2D": (
        3,
        (1, 1, 1, 4),
        (1, 8, 8, 4),
        "DepthwiseConv2DOptions",
        {**CONV, "DepthMultiplier": 1},
    ),
    "CONV_2D of groups": (3, (4, 1, 1, 1), (1, 8, 8, 4), "Conv2DOptions", CONV),
    "FULLY_CONNECTED": (4, (16, 4), (64, 16), "FullyConnectedOptions", {}),
    "TRANSPOSE_CONV": (3, (16, 1, 1, 4), (1, 8, 8, 16), "TransposeConvOptions", {"StrideH": 1, "StrideW": 1}),
}


def layer(name, rng):
    """A result has twice the step of the product in single precision: odd sums lie between two steps, and the
    last bits of the product say to which they go."""
    version, shape, result, options, fields = LAYERS[name]
    x_scale, w_scale = (np.float32(s) for s in rng.uniform(0.01, 0.1, 2))
    build = ModelBuilder()
    x = build.input("x", (1, 8, 8, 4), float(x_scale), 7, "uint8")
    w = build.constant(
        "w", rng.integers(122, 135, shape).astype(np.uint8), [float(w_scale)], zero_points=[130]
    )
    bias = build.constant("b", rng.integers(-50, 50, result[-1]).astype(np.int32), [float(x_scale * w_scale)])
    reads = [build.constant("s", np.array(result, np.int32)), w, x, bias]
    out = FileTensor("y", result, "uint8", (float(2 * (x_scale * w_scale)),), (128,))
    code = name.removesuffix(" of groups")
    operands = reads if code == "TRANSPOSE_CONV" else [x, w, bias]
    return build.finish(build.operator(code, version, operands, [out], options, **fields))


@pytest.mark.parametrize("name", LAYERS)
def test_sums_between_two_steps_go_where_litert_takes_them(name):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = layer(name, rng)
        x = rng.integers(0, 30, (1, 8, 8, 4)).astype(np.uint8)
        graph = parse_model(data, "model.tflite", "litert-ref")
        made = next(iter(run_graph(graph, {"x": x}).values()))
        np.testing.assert_array_equal(made, run_litert_once(data, x))


def test_unsigned_vectors_are_brought_to_length_1_as_litert_does():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shape = (50, int(rng.integers(1, 40)))
        build = ModelBuilder()
        x = build.input("x", shape, 0.05, int(rng.integers(0, 256)), "uint8")
        out = FileTensor("y", shape, "uint8", (1 / 128,), (128,))
        data = build.finish(build.operator("L2_NORMALIZATION", 1, [x], [out], "L2NormOptions"))
        array = rng.integers(0, 256, shape).astype(np.uint8)
        graph = parse_model(data, "model.tflite", "litert-ref")
        made = next(iter(run_graph(graph, {"x": array}).values()))
        np.testing.assert_array_equal(made, run_litert_once(data, array))
