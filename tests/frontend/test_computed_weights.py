"""FULLY_CONNECTED whose weights are computed in the run gives what LiteRT gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from further_layers import DEPTH, ROWS, UNITS, computed_weights
from litert_oracle import run_litert

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.ir.verify import verify


def given(dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    shape = (ROWS + UNITS, DEPTH)
    if dtype == "float32":
        return rng.normal(size=shape).astype(np.float32)
    return rng.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_floats_are_those_of_litert(
    activation: str, has_bias: bool, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    bias = np.array([0.5, -1, 0, 7], np.float32) if has_bias else None
    data, x = computed_weights("float32", bias, activation), given("float32", 1)
    graph = read_tflite(data, "net.tflite")
    verify(graph)
    (made,) = run_graph(graph, {"x": x}).values()
    assert made == pytest.approx(run_litert(data, x[None])[0], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("bias", [None, np.zeros(UNITS, np.int32)])
def test_integers_are_those_of_litert_in_every_bit(
    activation: str, bias: Array | None, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    data = computed_weights("int8", bias, activation)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    for seed in range(8):
        x = given("int8", seed)
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.tolist() == run_litert(data, x[None])[0].tolist()


def test_the_result_keeps_its_dimensions() -> None:
    graph = read_tflite(computed_weights("float32", rank=3), "net.tflite")
    assert graph.types[graph.outputs[0]].shape == (1, ROWS, UNITS)


def test_integers_with_a_bias_are_reported_with_a_way_out() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(computed_weights("int8", np.arange(UNITS, dtype=np.int32)), "net.tflite")
    assert caught.value.what == (
        'its weights "weights" are computed and its bias "bias" is not 0: '
        "integer layers with computed weights support no bias"
    )
    assert caught.value.hint == ("add the bias in a separate ADD after the layer, or freeze the weights")
