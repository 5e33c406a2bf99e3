"""Operators that are written as simpler ones give what their definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tflite_writer import TensorSpec

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.graph import Array

X = np.random.default_rng(5).standard_normal((1, 3, 4, 2)).astype(np.float32)


def made(code: str, shape: tuple[int, ...], options: str | None = None, **attributes: object) -> Array:
    """The operator's result on X."""
    build = ModelBuilder()
    x = build.input("x", X.shape, dtype="float32")
    arguments = () if options is None else (options,)
    y = build.operator(code, 1, (x,), [TensorSpec("y", shape, "float32")], *arguments, **attributes)
    graph = read_tflite(build.finish(y), "composed.tflite", "tflm")
    return run_graph(graph, {"x": X})["y"]


def test_log_softmax_is_the_logarithm_of_softmax() -> None:
    powers = np.exp(X.astype(np.float64))
    wanted = np.log(powers / powers.sum(-1, keepdims=True))
    assert np.allclose(made("LOG_SOFTMAX", X.shape), wanted, atol=1e-6)


def test_an_l2_normalised_vector_has_length_one() -> None:
    y = made("L2_NORMALIZATION", X.shape)
    assert np.allclose((y * y).sum(-1), 1, atol=1e-6)


def test_an_l2_pool_is_the_root_of_the_mean_square() -> None:
    y = made(
        "L2_POOL_2D",
        (1, 1, 1, 2),
        "Pool2DOptions",
        Padding=1,
        StrideH=1,
        StrideW=1,
        FilterHeight=3,
        FilterWidth=4,
    )
    assert np.allclose(y.reshape(-1), np.sqrt((X * X).mean((0, 1, 2))), atol=1e-6)


@pytest.mark.parametrize("code", ["LOG_SOFTMAX", "L2_NORMALIZATION"])
def test_integers_are_refused_with_the_way_out(code: str) -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), 0.5)
    y = build.operator(code, 1, (x,), [TensorSpec("y", (1, 4), "int8", (0.5,), (0,))])
    with pytest.raises(ModelError) as refusal:
        read_tflite(build.finish(y), "composed.tflite", "tflm")
    assert refusal.value.what == "it is supported on f32, not on i8"
    assert refusal.value.hint == "convert this part of the model as float"
