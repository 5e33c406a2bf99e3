"""Shapes round SPACE_TO_BATCH_ND that the file declares wrongly are computed, as LiteRT computes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite
from litert_oracle import random_inputs, run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.verify import verify

QUANT = ((0.5,), (3,))
STALE = (1, 6, 6, 2)


def dilated(layer: str, dtype: str = "int8", crop: int = 0) -> bytes:
    """Blocks of a padded image, a layer on them, and back; all that is made is declared as the input is."""
    build = ModelBuilder()
    x = build.input("x", (1, 6, 6, 2), 0.5, 3, dtype)
    blocks = build.constant("blocks", np.array([2, 2], np.int32))
    pads = build.constant("pads", np.array([[1, 1], [2, 2]], np.int32))
    crops = build.constant("crops", np.array([[0, 1], [crop, 0]], np.int32))
    apart = [FileTensor("apart", STALE, dtype, *QUANT)]
    y = build.operator("SPACE_TO_BATCH_ND", 2, (x, blocks, pads), apart)
    inner = [FileTensor("inner", STALE, dtype, *QUANT)]
    window = {"Padding": tflite.Padding.VALID, "StrideH": 1, "StrideW": 1}
    if layer == "CONV_2D":
        weights = np.random.default_rng(2).integers(-127, 128, (2, 2, 3, 2)).astype(np.int8)
        w = build.constant("w", weights, (0.01,) * 2)
        b = build.constant("b", np.array([40, -70], np.int32), (0.005,) * 2)
        y = build.operator(layer, 3, (y, w, b), inner, "Conv2DOptions", **window)
    elif layer == "MAX_POOL_2D":
        size = {"FilterHeight": 2, "FilterWidth": 2}
        y = build.operator(layer, 2, (y,), inner, "Pool2DOptions", **window, **size)
    elif layer == "RELU":
        y = build.operator(layer, 2, (y,), inner)
    elif layer == "SOFTMAX":
        y = build.operator(layer, 2, (y,), [FileTensor("inner", STALE, dtype, (1 / 256,), (-128,))])
    made = [FileTensor("y", STALE, dtype, *QUANT)]
    return build.finish(build.operator("BATCH_TO_SPACE_ND", 2, (y, blocks, crops), made))


@pytest.mark.parametrize(
    ("layer", "dtype"),
    [("", "int8"), ("", "uint8"), ("RELU", "int8"), ("MAX_POOL_2D", "int8"), ("CONV_2D", "int8")],
)
def test_results_are_those_of_litert(layer: str, dtype: str, require_package: Callable[..., None]) -> None:
    require_package("ai_edge_litert")
    data = dilated(layer, dtype)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    inputs = random_inputs(data, 3, seed=4).astype(dtype)
    for x, wanted in zip(inputs, run_litert(data, inputs), strict=True):
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.shape == wanted.shape != STALE
        assert made.tolist() == wanted.tolist()


def test_behind_another_operator_it_is_told() -> None:
    with pytest.raises(ModelError, match="SOFTMAX"):
        read_tflite(dilated("SOFTMAX"), "net.tflite")


def test_crops_that_leave_nothing_are_told() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(dilated("", crop=10), "net.tflite")
    assert caught.value.what == "crops [0, 1, 10, 0] do not fit [1, 8, 10, 2]"
