"""Quantised types carry scales and round as the references do; outputs may be several."""

from collections.abc import Callable

import numpy as np
import pytest

from aot.errors import InputError
from aot.ops.requant import multiply_by_quantized_multiplier, quantize_multiplier
from aot.ops.rounding import RequantRounding
from codegen.loops.interpret import run_proc
from deploy import lang

RNG = np.random.default_rng(3)
X = RNG.integers(-128, 128, (4, 16), np.int8)
W = RNG.integers(-128, 128, (5, 16), np.int8)
B = RNG.integers(-30000, 30000, 5).astype(np.int32)


def dense(rounding: str, to: float = 0.2, zero: int = 5) -> lang.Schedule:
    x = lang.placeholder("x", (4, 16), lang.quantized("i8", 0.05, -3))
    w = lang.placeholder("w", (5, 16), lang.quantized("i8", 0.01), constant=True)
    b = lang.placeholder("b", (5,), lang.quantized("i32", 0.05 * 0.01), constant=True)
    k = lang.reduce_axis("k", 16)
    y = lang.compute(
        "y",
        (4, 5),
        lambda i, j: lang.maximum(lang.sum(x[i, k] * w[j, k], k, start=b[j]), 0),
        lang.quantized("i8", to, zero),
        rounding=rounding,
    )
    return lang.schedule("dense", [x, w, b], y)


@pytest.mark.parametrize(
    ("rounding", "to"), [("double", 0.2), ("single", 0.2), ("double", 0.0001), ("single", 0.003)]
)
def test_a_layer_rounds_as_the_references_do(rounding, to):
    made, found = dense(rounding, to).proc, np.zeros(20, np.int8)
    run_proc(made, {"x": [X.ravel()], "w": [W.ravel()], "b": [B], "y": [found]})
    sums = np.maximum((X.astype(np.int64) + 3) @ W.T.astype(np.int64) + B, 0)
    mult, shift = quantize_multiplier(0.05 * 0.01 / to)
    scaled = multiply_by_quantized_multiplier(sums, mult, shift, RequantRounding(rounding))
    assert np.array_equal(found.reshape(4, 5), np.clip(scaled + 5, -128, 127))
    real = np.clip(np.round(sums * (0.05 * 0.01 / to)) + 5, -128, 127)
    assert np.abs(real - found.reshape(4, 5)).max() <= 1


def test_a_quantised_tensor_between_nests_is_stored_and_read_with_its_scale():
    x = lang.placeholder("x", (8,), lang.quantized("i8", 0.5, 1))
    half = lang.compute("half", (8,), lambda i: x[i] * 1, lang.quantized("i8", 1.0, -2))
    y = lang.compute("y", (8,), lambda i: half[i] + half[i], lang.quantized("i16", 0.25))
    made, found = lang.proc("twice", [x], y), np.zeros(8, np.int16)
    given = np.array([-128, -3, 0, 1, 2, 5, 9, 127], np.int8)
    run_proc(made, {"x": [given], "half": [np.zeros(8, np.int8)], "y": [found]})
    halves = np.floor((given - 1.0) * 0.5 + 0.5)  # by 2^30 / 2^31, halves up, and no shift behind
    assert found.tolist() == (halves * 2 / 0.25).astype(int).tolist()


Q = lang.placeholder("q", (4,), lang.quantized("i8", 0.5))
OTHER = lang.placeholder("other", (4,), lang.quantized("i8", 0.25))
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "scales": (
        lambda: lang.compute("y", (4,), lambda i: Q[i] + OTHER[i]),
        "a value of scale 0.5 and one of scale 0.25 cannot be combined",
    ),
    "numbers": (
        lambda: lang.compute("y", (4,), lambda i: Q[i] + 3),
        "a value of scale 0.5 and one without a scale cannot be combined",
    ),
    "no scale": (
        lambda: lang.compute("y", (4,), lambda i: i * 2, lang.quantized("i8", 1.0)),
        "y is quantized, but its value has no scale",
    ),
    "rounding": (
        lambda: lang.compute("y", (4,), lambda i: Q[i], lang.quantized("i8", 1.0), rounding="up"),
        'there is no rounding "up"',
    ),
    "real": (lambda: lang.quantized("f32", 1.0), "f32 holds unquantized floats"),
    "scale": (lambda: lang.quantized("i8", 0.0), "the scale must be finite and more than 0, not 0.0"),
    "zero": (
        lambda: lang.quantized("i8", 1.0, 128),
        "i8 does not hold the zero point 128: it goes from -128 to 127",
    ),
    "no output": (
        lambda: lang.proc("nothing", [Q], []),
        "nothing has no output, so there is nothing to compute",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_reported_with_its_line(name):
    ask, what = WRONG[name]
    with pytest.raises(InputError) as caught:
        ask()
    assert caught.value.what == what
    assert caught.value.where.startswith(f"{__file__}:")


def span(hi: str | None = None) -> lang.Schedule:
    x, k = lang.placeholder("x", (4, 16), "i8"), lang.reduce_axis("k", 16)
    low = lang.compute("low", (4,), lambda i: lang.min(x[i, k], k))
    high = lang.compute("high", (2, 2), lambda i, j: lang.max(x[i * 2 + j, k], k), hi)
    return lang.schedule("span", [x], [low, high], check=True)


@pytest.mark.cc
def test_several_outputs_come_apart_again(own_folders):
    s = span()
    s.unroll("k", 4)
    kernel = lang.build(s, "host")
    kernel.verify()
    low, high = kernel(X)
    assert np.array_equal(low, X.min(axis=1))
    assert np.array_equal(high, X.max(axis=1).reshape(2, 2))
    assert [part.tolist() for part in kernel.reference(X)] == [low.tolist(), high.tolist()]


def test_outputs_of_several_types_are_not_built(own_folders):
    with pytest.raises(InputError) as caught:
        lang.build(span("i8"), "host")
    assert caught.value.what == "low is i32 and high i8: all outputs must have the same type"


@pytest.mark.arm
@pytest.mark.qemu
def test_a_quantised_layer_runs_as_it_means(own_folders):
    for rounding in ("double", "single"):
        lang.build(dense(rounding), "mps2-an386", {"w": W, "b": B}).verify()
