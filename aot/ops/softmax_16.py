"""Softmax of 16-bit integers: exponential and reciprocal by linear interpolation in tables."""

from __future__ import annotations

from functools import cache

import numpy as np

from aot.ir.types import Array, TensorType
from aot.ops.piecewise_linear import Table, on_lines, points
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier

_LOW, _HIGH = -(2**15), 2**15 - 1
_RANGE = 65535


@cache
def exp_points() -> Table:
    """Returns the table of exp for -10 .. 0."""
    return points(np.exp, 10 / _RANGE, _HIGH, 2 / _RANGE, 0)


@cache
def reciprocal_points() -> Table:
    """Returns the table of 1 / (1 + x) for 0 .. 1."""
    return points(lambda x: np.float32(1) / (np.float32(1) + x), 1 / _RANGE, _LOW, 2 / _RANGE, 0)


def difference_multiplier(x_type: TensorType, beta: float) -> tuple[int, int]:
    """Returns (mult, shift) from x - max to units of 10 / 65535."""
    return quantize_multiplier(quant_of(x_type).scale * float(np.float32(beta)) / (10.0 / 65535.0))


def exp_16(below: Ints, multiplier: tuple[int, int]) -> Ints:
    """Returns exp(x - max) as a fraction of 2**15."""
    scaled = multiply_by_quantized_multiplier(below, *multiplier) + _HIGH
    return on_lines(np.clip(scaled, _LOW, _HIGH), exp_points())


def reciprocal_16(sums: Ints) -> Ints:
    """Returns 1 / sum, normalized to between 1 and 2, as a fraction of 2**15."""
    bits = 31 - _bit_lengths(sums)
    above_one = (((sums << bits) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16)
    return on_lines(np.clip(above_one, _LOW, _HIGH), reciprocal_points())


def share_16(exps: Ints, reciprocals: Ints, bits: Ints) -> Ints:
    shares: Ints = (exps * reciprocals + (np.int64(1) << (bits - 1))) >> bits
    return np.clip(shares, 0, _HIGH)


def _bit_lengths(values: Ints) -> Ints:
    lengths = [int(v).bit_length() for v in values.ravel()]
    return np.array(lengths, np.int64).reshape(values.shape)


def softmax_16(below: Ints, x_type: TensorType, beta: float) -> Array:
    """Returns the stored results for x - max."""
    exps = exp_16(below, difference_multiplier(x_type, beta))
    sums = exps.sum(axis=-1, keepdims=True)
    return share_16(exps, reciprocal_16(sums), _bit_lengths(sums) - 1).astype(np.int16)
