"""Exponentials, logarithms and roots in fixed point, bit for bit as in the integer references."""

from __future__ import annotations

import math

import numpy as np

from aot.ops.requant import INT32_MAX, INT32_MIN, Ints, rounding_divide_by_pot
from aot.ops.requant import saturating_rounding_doubling_high_mul as multiply

# exp(-2**n) as a fraction of 2**31, for n = -2 .. 4: the range of an argument with 5 integer bits.
_EXP_OF_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_OF_MINUS_EIGHTH = 1895147668
_ONE_THIRD = 715827883
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540  # two integer bits


def exp_of_negative(raw: Ints, integer_bits: int = 5) -> Ints:
    """Returns exp(x) with no integer bits, for x <= 0 with `integer_bits`."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    in_quarter = (raw & (quarter - 1)) - quarter
    result = _exp_in_last_quarter(_saturate(in_quarter << integer_bits))
    remainder = in_quarter - raw
    for power, factor in zip(range(-2, integer_bits), _EXP_OF_POWERS, strict=False):
        is_set = (remainder & (1 << (fraction_bits + power))) != 0
        result = np.where(is_set, multiply(result, factor), result)
    return np.where(raw == 0, INT32_MAX, result)


def _exp_in_last_quarter(raw: Ints) -> Ints:
    """Returns exp(x) for x in [-1/4, 0): four Taylor terms around -1/8."""
    x = raw + (1 << 28)
    x2 = multiply(x, x)
    x3, x4 = multiply(x2, x), multiply(x2, x2)
    quartic = rounding_divide_by_pot(x4, 2)
    higher = rounding_divide_by_pot(multiply(quartic + x3, _ONE_THIRD) + x2, 1)
    return _EXP_OF_MINUS_EIGHTH + multiply(x + higher, _EXP_OF_MINUS_EIGHTH)


def one_over_one_plus(raw: Ints) -> Ints:
    """Returns 1 / (1 + x) for x in [0, 1), both with no integer bits."""
    return _saturate(_two_over_one_plus(raw) << 1)


def one_minus_over_one_plus(raw: Ints) -> Ints:
    """Returns (1 - x) / (1 + x) for x in [0, 1), both with no integer bits."""
    return _saturate((_two_over_one_plus(raw) - (1 << 29)) << 2)


def _two_over_one_plus(raw: Ints) -> Ints:
    """Returns 2 / (1 + x) with two integer bits: three Newton-Raphson steps."""
    half_denominator = (raw + INT32_MAX + 1) >> 1  # both are positive
    x = _48_OVER_17 + multiply(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, x)
        x = x + _saturate(multiply(x, error) << 2)
    return x


def logistic(raw: Ints) -> Ints:
    """Returns 1 / (1 + exp(-x)) with no integer bits, for x with four."""
    of_magnitude = one_over_one_plus(exp_of_negative(-np.abs(raw), integer_bits=4))
    either = np.where(raw > 0, of_magnitude, INT32_MAX - of_magnitude)
    return np.where(raw == 0, 1 << 30, either)


def tanh(raw: Ints) -> Ints:
    """Returns tanh(x) with no integer bits, for x with four."""
    # 2 x with five integer bits has the same raw value as x with four.
    of_magnitude = one_minus_over_one_plus(exp_of_negative(-np.abs(raw), integer_bits=5))
    either = np.where(raw < 0, -of_magnitude, of_magnitude)
    return np.where(raw == 0, 0, either)


def reciprocal(raw: Ints, integer_bits: int) -> tuple[Ints, Ints]:
    """Returns (scale, bits): 1 / x = scale / 2**31 / 2**bits for x > 0 with `integer_bits`."""
    headroom = _leading_zeros(raw)
    above_one = (raw << headroom) - (1 << 31)
    return one_over_one_plus(above_one), integer_bits - headroom


def _saturate(raw: Ints) -> Ints:
    return np.clip(raw, INT32_MIN, INT32_MAX)


# Coefficients of the rational function for log(x) near 1, scaled by fourth roots of 2.
_LOG_2, _SQRT_HALF, _FOURTH_ROOT_OF_HALF = 1488522236, 1518500250, 1805811301
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708


def logarithm(raw: Ints, integer_bits: int, result_bits: int) -> Ints:
    """Returns log(x) with `result_bits`, for x >= 1 with `integer_bits`.

    The argument is reduced towards 1 by powers of 2, with and without a factor of sqrt(1/2); the smaller
    remainder is used.
    """
    fraction = 31 - (result_bits + 1)  # a bit of headroom for the sum at the end
    quarter = 1 << (fraction - 2)
    headroom = _leading_zeros(raw)
    rest_a = _saturate(multiply(_saturate(raw << (headroom - 1)), _SQRT_HALF) << 1)
    power_a = _saturate(((integer_bits - headroom) << fraction) + quarter)
    headroom_b = _leading_zeros(multiply(raw, _SQRT_HALF)) - 1
    rest_b = _saturate(raw << headroom_b)
    power_b = _saturate(((integer_bits - headroom_b) << fraction) - quarter)
    rest, power = np.minimum(rest_a, rest_b), np.maximum(power_a, power_b)
    scaled = rounding_divide_by_pot(_log_numerator(rest), result_bits + 1)
    near_one = multiply(scaled, one_over_one_plus(_log_denominator(rest)))
    return _saturate((multiply(power, _LOG_2) + near_one) << 1)


def _log_numerator(rest: Ints) -> Ints:
    q = 2 * (rest - _FOURTH_ROOT_OF_HALF)
    square = multiply(q, q)
    return multiply(q, rest) + multiply(multiply(q, square), _ALPHA_N)


def _log_denominator(rest: Ints) -> Ints:
    """Returns the denominator minus 1."""
    half_sum = (rest + _FOURTH_ROOT_OF_HALF + 1) >> 1  # both are positive
    q = 2 * (rest - _FOURTH_ROOT_OF_HALF)
    square = multiply(q, q)
    return multiply(half_sum, _ALPHA_I + q + multiply(square, _ALPHA_D)) + multiply(q, _ALPHA_F)


def _leading_zeros(raw: Ints) -> Ints:
    """Counts the leading zeros of 32-bit integers."""
    return 32 - np.array([int(v).bit_length() for v in raw.ravel()], np.int64).reshape(raw.shape)


# Logarithms of unsigned integers by interpolation in a log2 table, like TFLite Micro's signal library.

BITS, SEGMENT_BITS = 16, 7  # fraction bits; bits of a fraction's index in the table
LN_2 = 45426  # in units of 2^-16
_WORD, _HALF = 2**32 - 1, 2**15
# log2(1 + f) - f for 128 values of f and at the end, in units of 2^-16.
CORRECTIONS = tuple(
    round((1 << BITS) * (math.log2(1 + place / (1 << SEGMENT_BITS)) - place / (1 << SEGMENT_BITS)))
    for place in range((1 << SEGMENT_BITS) + 1)
)


def fixed_log(number: int, scale: int) -> int:
    """Returns ln(number mod 2^32) * scale, at most 32767; 0 for 0 and 1."""
    number &= _WORD
    if number <= 1:
        return 0
    whole = number.bit_length() - 1
    log2 = (whole << BITS) + _fraction(number, whole)
    natural = (LN_2 * log2 + _HALF) >> BITS
    return min(((scale * natural + _HALF) & _WORD) >> BITS, 2**15 - 1)


def _fraction(number: int, whole: int) -> int:
    rest = number - (1 << whole)
    rest = rest << (BITS - whole) if whole < BITS else rest >> (whole - BITS)
    segment = rest >> (BITS - SEGMENT_BITS)
    here, there = CORRECTIONS[segment : segment + 2]
    beyond = rest - (segment << (BITS - SEGMENT_BITS))
    return rest + here + (((there - here) * beyond) >> BITS)  # a 128th of the line's rise, like the reference


# 1 / sqrt(x) of an integer as a fixed-point multiplier, bit for bit as in the integer references.

_STEPS = 5  # of Newton-Raphson
_HALF_THREE = (1 << 28) + (1 << 27)  # 3/2 with three integer bits
_HALF_SQRT_2 = 1518500250


def inverse_root_multipliers(x: Ints) -> tuple[Ints, Ints]:
    """Returns (mult, shift) for each x >= 1: 1 / sqrt(x) = mult / 2**31 * 2**shift."""
    pairs = [_inverse_root(int(v)) for v in x.ravel()]
    mult, shift = (np.asarray(column, np.int64).reshape(x.shape) for column in zip(*pairs, strict=True))
    return mult, shift


def _inverse_root(x: int) -> tuple[int, int]:
    if x <= 1:
        return INT32_MAX, 0
    right = 11
    while x >= 1 << 29:
        x, right = x // 4, right + 1
    spare = (32 - x.bit_length()) - 1
    pairs = spare // 2 - 1
    right -= pairs
    return _newton_raphson(np.int64(x << 2 * pairs)), -right


def _newton_raphson(x: np.int64) -> int:
    """Returns sqrt(1/2) / sqrt(x) for 1/4 <= x < 1, with three integer bits."""
    half = np.asarray(rounding_divide_by_pot(np.asarray(x >> 1), 1))
    root = np.asarray(1 << 28, np.int64)  # 1 with three integer bits
    for _ in range(_STEPS):
        cube = _shifted(multiply(multiply(root, root), root), 6)
        root = _shifted(multiply(np.asarray(_HALF_THREE), root) - multiply(half, cube), 3)
    return int(multiply(root, _HALF_SQRT_2))


def _shifted(value: Ints, bits: int) -> Ints:
    clipped: Ints = np.clip(value << bits, -(2**31), INT32_MAX)
    return clipped


# Square roots of unsigned integers, digit by digit, rounded like TFLite Micro's signal library.


def whole_root(number: int) -> int:
    """Returns the nearest root, at most 16 bits for a 32-bit number."""
    root = math.isqrt(number)
    largest = 0xFFFF if number >> 32 == 0 else 0xFFFFFFFF
    return root + 1 if number - root * root > root and root != largest else root
