"""Requantization equals C's integer arithmetic; limits of activations and multipliers of additions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from op_case import int8

from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.binary_rescale import AddParameters, add_parameters
from aot.ops.requant import (
    conv_requant,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from aot.ops.rounding import RequantRounding

INT32 = st.integers(-(2**31), 2**31 - 1)


def c_division(a: int, b: int) -> int:
    """Towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def c_high_mul(a: int, b: int) -> int:
    """As C computes it: a nudge that depends on the sign, then a division towards zero."""
    if a == b == -(2**31):
        return 2**31 - 1
    nudge = 1 << 30 if a * b >= 0 else 1 - (1 << 30)
    return c_division(a * b + nudge, 1 << 31)


def one(value: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    return int(value[0])


@given(INT32, INT32)
@example(-(2**31), -(2**31))
@example(1, 2**30)
@example(-1, 2**30)
@example(-3, 2**30)
def test_high_mul_equals_the_c_formula(a, b):
    got = saturating_rounding_doubling_high_mul(np.array([a], np.int64), np.array([b], np.int64))
    assert one(got) == c_high_mul(a, b)


@given(INT32, st.integers(0, 31))
@example(-3, 1)
@example(3, 1)
def test_division_by_a_power_of_two_rounds_half_away_from_zero(x, exponent):
    exact = Fraction(x, 2**exponent)
    wanted = math.copysign(math.floor(abs(exact) + Fraction(1, 2)), exact)
    assert one(rounding_divide_by_pot(np.array([x], np.int64), exponent)) == int(wanted)


@pytest.mark.parametrize(
    ("real", "mult", "shift"),
    [
        (0.0, 0, 0),
        (0.5, 2**30, 0),
        (1.0, 2**30, 1),
        (0.75, 3 * 2**29, 0),
        (6.0, 3 * 2**29, 3),
        (1 - 2**-33, 2**30, 1),  # rounds up to a power of two
        (2.0**-32, 2**30, -31),
        (2.0**-33, 0, 0),  # too small to move any 32-bit accumulator
    ],
)
def test_a_real_multiplier_becomes_31_bits_and_a_shift(real, mult, shift):
    assert quantize_multiplier(real) == (mult, shift)


@given(st.floats(2.0**-30, 2.0**20))
def test_a_multiplier_is_within_half_a_unit_of_its_31_bits(real):
    mult, shift = quantize_multiplier(real)
    assert 2**30 <= mult < 2**31
    assert abs(Fraction(mult) * Fraction(2) ** (shift - 31) - Fraction(real)) <= Fraction(2) ** (shift - 32)


@given(st.integers(-(2**24), 2**24), st.floats(2.0**-20, 0.999))
@pytest.mark.parametrize("rounding", [RequantRounding.DOUBLE, RequantRounding.SINGLE])
def test_a_product_is_within_one_of_the_real_product(rounding, x, real):
    got = multiply_by_quantized_multiplier(np.array([x], np.int64), *quantize_multiplier(real), rounding)
    assert abs(one(got) - x * real) <= 1


@given(st.integers(-(2**46), 2**46), st.floats(2.0**-20, 0.999))
def test_a_reduced_multiplier_keeps_sixteen_bits(x, real):
    mult, shift = quantize_multiplier(real)
    got = multiply_by_quantized_multiplier(np.array([x], np.int64), mult, shift, RequantRounding.REDUCED)
    assert abs(one(got) - x * real) <= 1 + abs(x * real) * 2.0**-15


def test_a_reduced_multiplier_rounds_half_up():
    products = multiply_by_quantized_multiplier(
        np.array([-3, -1, 1, 3], np.int64), 2**30, 0, RequantRounding.REDUCED
    )
    assert products.tolist() == [-1, 0, 1, 2]


def test_rounding_once_and_twice_differ_where_the_first_rounding_makes_a_tie():
    x, mult, shift = np.array([2**30 - 1], np.int64), 2**30, -29
    twice = multiply_by_quantized_multiplier(x, mult, shift, RequantRounding.DOUBLE)
    once = multiply_by_quantized_multiplier(x, mult, shift, RequantRounding.SINGLE)
    assert (one(twice), one(once)) == (1, 1)
    x = np.array([2**29 - 1], np.int64)
    twice = multiply_by_quantized_multiplier(x, mult, shift, RequantRounding.DOUBLE)
    once = multiply_by_quantized_multiplier(x, mult, shift, RequantRounding.SINGLE)
    assert (one(twice), one(once)) == (1, 0)


def test_multipliers_per_channel_come_from_the_scales_in_double_precision():
    x = TensorType(DType.I8, (1, 2, 2, 1), Quant((0.1,), (0,)))
    w = TensorType(DType.I8, (2, 1, 1, 1), Quant((0.2, 0.003), (0, 0), 0))
    y = TensorType(DType.I8, (1, 2, 2, 2), Quant((0.7,), (5,)))
    mult, shift = conv_requant(x, w, y, 2)
    assert list(zip(mult.tolist(), shift.tolist(), strict=True)) == [
        quantize_multiplier(0.1 * 0.2 / 0.7),
        quantize_multiplier(0.1 * 0.003 / 0.7),
    ]


def test_one_scale_serves_all_channels():
    x = TensorType(DType.I8, (1, 4), Quant((0.1,), (0,)))
    mult, shift = conv_requant(x, x, x, 3)
    assert mult.tolist() == [quantize_multiplier(0.1)[0]] * 3
    assert shift.tolist() == [quantize_multiplier(0.1)[1]] * 3


@pytest.mark.parametrize(
    ("activation", "scale", "zero_point", "limits"),
    [
        (Activation.NONE, 0.1, 5, (-128, 127)),
        (Activation.RELU, 0.1, 5, (5, 127)),
        (Activation.RELU, 0.1, -128, (-128, 127)),
        (Activation.RELU6, 0.1, -128, (-128, -68)),
        (Activation.RELU6, 0.01, -128, (-128, 127)),  # 6 is beyond what can be stored
        (Activation.RELU_N1_TO_1, 0.1, 5, (-5, 15)),
        (Activation.RELU_N1_TO_1, 0.4, 0, (-3, 3)),  # 2.5 steps: half away from zero
    ],
)
def test_limits_of_an_activation(activation, scale, zero_point, limits):
    assert integer_clamp(activation, int8(scale=scale, zero_point=zero_point)) == limits


def test_inputs_are_brought_to_twice_the_larger_scale_and_shifted_by_20():
    assert add_parameters(int8(scale=0.5), int8(scale=0.125), int8(scale=0.25)) == AddParameters(
        left_shift=20,
        first=quantize_multiplier(0.5),
        second=quantize_multiplier(0.125),
        out=quantize_multiplier(1.0 / (2**20 * 0.25)),
    )
