"""FULLY_CONNECTED whose weights are computed in the run gives what LiteRT gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.ir.verify import verify

ROWS, DEPTH, UNITS = 3, 6, 4


def layer(dtype: str, bias: Array | None = None, activation: str = "NONE", rank: int = 2) -> bytes:
    """One input, which is the rows and, moved to another shape, the weights."""
    build = ModelBuilder()
    quant: tuple[tuple[float, ...], tuple[int, ...]] = ((), ()) if dtype == "float32" else ((0.05,), (3,))
    whole = build.input("x", (ROWS + UNITS, DEPTH), 0.05, 3, dtype)
    parts = [
        build.operator(
            "SLICE",
            2,
            (
                whole,
                build.constant(f"{name}/begin", np.array([first, 0], np.int32)),
                build.constant(f"{name}/size", np.array([count, DEPTH], np.int32)),
            ),
            [FileTensor(name, (count, DEPTH), dtype, *quant)],
        )
        for name, first, count in (("rows", 0, ROWS), ("weights", ROWS, UNITS))
    ]
    made = ((), ()) if dtype == "float32" else ((0.04,), (-5,))
    shape = (ROWS, UNITS) if rank == 2 else (1, ROWS, UNITS)
    given = None if bias is None else build.constant("bias", bias, () if dtype == "float32" else (0.0025,))
    return build.finish(
        build.operator(
            "FULLY_CONNECTED",
            9,
            (*parts, given),
            [FileTensor("y", shape, dtype, *made)],
            "FullyConnectedOptions",
            FusedActivationFunction=getattr(tflite.ActivationFunctionType, activation),
            KeepNumDims=rank == 3,
        )
    )


def given(dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    shape = (ROWS + UNITS, DEPTH)
    if dtype == "float32":
        return rng.normal(size=shape).astype(np.float32)
    return rng.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_real_numbers_are_those_of_litert(
    activation: str, has_bias: bool, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    bias = np.array([0.5, -1, 0, 7], np.float32) if has_bias else None
    data, x = layer("float32", bias, activation), given("float32", 1)
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
    data = layer("int8", bias, activation)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    for seed in range(8):
        x = given("int8", seed)
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.tolist() == run_litert(data, x[None])[0].tolist()


def test_the_result_keeps_its_dimensions() -> None:
    graph = read_tflite(layer("float32", rank=3), "net.tflite")
    assert graph.types[graph.outputs[0]].shape == (1, ROWS, UNITS)


def test_integers_with_a_bias_are_told_with_a_way_out() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(layer("int8", np.arange(UNITS, dtype=np.int32)), "net.tflite")
    assert caught.value.what == (
        'its weights "weights" are computed, and its bias "bias" is not 0: '
        "integers have no bias beside computed weights"
    )
    assert caught.value.hint == (
        "add the bias behind the layer, as an operator of its own, or freeze the weights"
    )
