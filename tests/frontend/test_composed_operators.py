"""Operators that are written as simpler ones give what their definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array

X = np.random.default_rng(5).standard_normal((1, 3, 4, 2)).astype(np.float32)


def made(code: str, shape: tuple[int, ...], options: str | None = None, **attributes: Any) -> Array:
    """The operator's result on X."""
    build = ModelBuilder()
    x = build.input("x", X.shape, dtype="float32")
    arguments = () if options is None else (options,)
    y = build.operator(code, 1, (x,), [FileTensor("y", shape, "float32")], *arguments, **attributes)
    graph = read_tflite(build.finish(y), "composed.tflite", "tflm")
    return run_graph(graph, {"x": X})["y"]


def test_log_softmax_is_the_logarithm_of_softmax() -> None:
    powers = np.exp(X.astype(np.float64))
    wanted = np.log(powers / powers.sum(-1, keepdims=True))
    assert np.allclose(made("LOG_SOFTMAX", X.shape), wanted, atol=1e-6)


def test_an_l2_normalised_vector_has_length_one() -> None:
    y = made("L2_NORMALIZATION", X.shape)
    assert np.allclose((y * y).sum(-1), 1, atol=1e-6)  # type: ignore[operator]


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


def test_pools_of_squares_of_integers_are_refused_with_the_way_out() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 1), 0.5)
    y = build.operator(
        "L2_POOL_2D", 1, (x,), [FileTensor("y", (1, 4, 4, 1), "int8", (0.5,), (0,))], "Pool2DOptions",
        StrideH=1, StrideW=1, FilterHeight=1, FilterWidth=1,
    )  # fmt: skip
    with pytest.raises(ModelError) as refusal:
        read_tflite(build.finish(y), "composed.tflite", "tflm")
    assert refusal.value.what == "it is supported for f32 only, not for i8"
    assert refusal.value.hint == "convert this part of the model as float"


def quantised_sum(term_count: int, scale: float, zero_point: int) -> tuple[list[Array], Array]:
    """Terms of all stored values, and their ADD_N in steps of 0.3."""
    build, random = ModelBuilder(), np.random.default_rng(6)
    terms = [build.input(f"x{i}", (1, 256), scale, zero_point) for i in range(term_count)]
    result = FileTensor("y", (1, 256), "int8", (0.3,), (-7,))
    graph = read_tflite(
        build.finish(build.operator("ADD_N", 2, tuple(terms), [result])), "sum.tflite", "tflm"
    )
    arrays = [random.permutation(256).astype(np.uint8).view(np.int8)[None] for _ in terms]
    return arrays, run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))["y"]  # type: ignore[return-value]


@pytest.mark.parametrize("term_count", [2, 3, 15])
@pytest.mark.parametrize("zero_point", [0, 5])
def test_a_quantised_sum_of_many_is_rounded_once(term_count: int, zero_point: int) -> None:
    terms, y = quantised_sum(term_count, 0.11, zero_point)
    total = np.sum([t.astype(np.int64) for t in terms], axis=0) - (term_count + 1) * zero_point
    exact = total * (float(np.float32(0.11)) / float(np.float32(0.3))) - 7
    assert np.abs(y - np.clip(exact, -128, 127)).max() < 0.5 + 1e-6


def test_more_terms_than_fit_in_32_bits_are_refused() -> None:
    with pytest.raises(ModelError) as refusal:
        quantised_sum(16, 0.11, 0)
    assert refusal.value.what == "a sum of 16 quantized i8 terms with 1 quantizations is not supported"
    assert refusal.value.hint == "supported: up to 15 i8 terms with the same quantization"


def repeated_shape(first: list[int], second: list[int]) -> list[int]:
    """What BROADCAST_ARGS makes of two shapes."""
    build, given, shapes = (
        ModelBuilder(),
        {"a": np.array(first, np.float32), "b": np.array(second, np.float32)},
        [],
    )
    for name, array in given.items():
        x = build.input(name, array.shape, dtype="float32")
        shapes.append(build.operator("CAST", 1, (x,), [FileTensor(f"{name}s", array.shape, "int32")]))
    y = build.operator("BROADCAST_ARGS", 1, tuple(shapes), [FileTensor("y", (len(first),), "int32")])
    made = run_graph(read_tflite(build.finish(y), "shapes.tflite", "tflm"), given)["y"]
    return [int(size) for size in made]


def test_two_shapes_become_the_one_that_both_are_repeated_to() -> None:
    assert repeated_shape([1, 5, 1, 7], [3, 1, 1, 7]) == [3, 5, 1, 7]


def test_shapes_of_two_lengths_are_refused() -> None:
    with pytest.raises(ModelError) as refusal:
        repeated_shape([1, 5, 1, 7], [5, 1, 7])
    assert refusal.value.what == "shapes of [4] and [3] dimensions are not supported"


def test_slopes_of_8_bits_go_with_data_of_16() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), 0.5, 0, "int16")
    slopes = build.constant("slopes", np.array([[2, -2, 1, 3]], np.int8), (0.25,))
    y = build.operator("PRELU", 1, (x, slopes), [FileTensor("y", (1, 4), "int16", (0.5,), (0,))])
    graph = read_tflite(build.finish(y), "prelu.tflite", "tflm")
    made = run_graph(graph, {"x": np.array([[-100, -100, 100, -8]], np.int16)})["y"]
    assert made.tolist() == [[-50, 50, 100, -6]]


def test_a_reshape_to_a_scalar_may_name_an_empty_shape() -> None:
    build = ModelBuilder()
    x, shape = build.input("x", (1, 1), dtype="float32"), build.constant("shape", np.zeros((0,), np.int32))
    y = build.operator("RESHAPE", 1, (x, shape), [FileTensor("y", (), "float32")])
    graph = read_tflite(build.finish(y), "scalar.tflite", "tflm")
    assert run_graph(graph, {"x": np.array([[3]], np.float32)})["y"] == 3
