"""Convolutions of real images by int8 weights: with `litert-ref` LiteRT's hybrid kernels, in every bit."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from c_checks import failures_on_host
from litert_oracle import run_litert
from model_checks import PLAIN, model_check
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from codegen.options import CompileOptions

SIZE = 6
# Kind, channels of the image and of the result, whether each has a scale.
LAYERS = (
    ("CONV_2D", 3, 5, False),
    ("CONV_2D", 3, 5, True),
    ("CONV_2D", 64, 8, True),
    ("CONV_2D", 4, 1, True),  # one scale is taken for one of all channels
    ("DEPTHWISE_CONV_2D", 4, 4, True),
    ("DEPTHWISE_CONV_2D", 2, 4, True),
    ("DEPTHWISE_CONV_2D", 1, 1, True),
)


def layer(kind: str, depth: int, channels: int, each: bool, activation: int = 0, images: int = 1) -> bytes:
    rng, build, is_depthwise = np.random.default_rng(depth), ModelBuilder(), kind != "CONV_2D"
    x = build.input("x", (images, SIZE, SIZE, depth), dtype="float32")
    shape = (1, 3, 3, channels) if is_depthwise else (channels, 3, 3, depth)
    scales = rng.uniform(0.005, 0.02, channels if each else 1).tolist()
    w = build.constant("w", rng.integers(-127, 128, shape).astype(np.int8), scales, 3 if is_depthwise else 0)
    b = build.constant("b", rng.standard_normal(channels).astype(np.float32))
    made = [FileTensor("y", (images, SIZE, SIZE, channels), "float32")]
    fields = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1, "Padding": 0}
    if is_depthwise:
        fields["DepthMultiplier"] = channels // depth
    options = "DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions"
    version = 6 if is_depthwise else 5
    return build.finish(
        build.operator(kind, version, (x, w, b), made, options, FusedActivationFunction=activation, **fields)
    )


def images(depth: int) -> Iterator[Array]:
    """Zeros, one sign only, both, large and small."""
    rng = np.random.default_rng(depth)
    yield np.zeros((1, SIZE, SIZE, depth), np.float32)
    for middle, reach in product((-3, 0, 0.2, 5), (0.01, 1, 30)):
        yield (rng.standard_normal((1, SIZE, SIZE, depth)) * reach + middle).astype(np.float32)


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize(("kind", "depth", "channels", "each"), LAYERS)
def test_a_layer_has_the_bits_of_litert(kind, depth, channels, each, activation):
    data = layer(kind, depth, channels, each, activation)
    graph = read_tflite(data, "hybrid.tflite", "litert-ref")
    for x, wanted in zip(images(depth), run_litert(data, list(images(depth))), strict=True):
        np.testing.assert_array_equal(run_graph(graph, {"x": x})["y"], wanted)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_other_roundings_keep_the_image_as_it_is(kind):
    found = [
        {node.op.name for node in read_tflite(layer(kind, 4, 4, True), "hybrid.tflite", mode).nodes}
        for mode in ("tflm", "litert-ref")
    ]
    assert ["in_own_steps" in names for names in found] == [False, True]


def test_several_images_keep_their_numbers():
    graph = read_tflite(layer("CONV_2D", 3, 5, True, images=2), "hybrid.tflite", "litert-ref")
    assert "in_own_steps" not in {node.op.name for node in graph.nodes}


@pytest.mark.cc
def test_c_computes_what_litert_computes(tmp_path):
    """Whole steps are exact in any order of sums."""
    checks = []
    for number, way in enumerate((LAYERS[0], LAYERS[1], LAYERS[5])):
        data, samples = layer(*way), [{"x": x} for x in images(way[1])][:6]
        graph = read_tflite(data, "hybrid.tflite", "litert-ref")
        for sample, each in zip(samples, run_litert(data, [s["x"] for s in samples]), strict=True):
            np.testing.assert_array_equal(run_graph(graph, sample)["y"], each)
        meant = run_meaning(graph).graph
        checks.append(model_check(f"hybrid_{number}", f"k{number}", meant, PLAIN, CompileOptions(), samples))
    assert failures_on_host(checks, tmp_path) == {}
