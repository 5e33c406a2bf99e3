"""Curves of 16-bit integers, bit for bit as in the references: tables and interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, TensorType
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier

# Curves of 16-bit integers: linear interpolation between 513 points, bit for bit as in the references.

_STEPS, _STEP_BITS = 512, 7
_LOW, _HIGH = -(2**15), 2**15 - 1
Table = npt.NDArray[np.int16]
_FloatArray = npt.NDArray[np.float32]


def points(
    curve: Callable[[Array], Array], x_scale: float, x_zero: int, y_scale: float, y_zero: int
) -> Table:
    """Returns results at every 128th stored input, corrected by half the error at each interval's middle.

    Uses single precision, because the references compute their tables in it.
    """
    single = np.float32
    least, most = (single(x_scale) * single(limit - x_zero) for limit in (_LOW, _HIGH))
    low, high = (single(y_scale) * single(limit - y_zero) for limit in (_LOW, _HIGH))
    per_unit = single(65536) / (high - low)
    step = (most - least) / single(_STEPS)
    numbers = np.arange(_STEPS, dtype=single)

    def at(x: _FloatArray) -> _FloatArray:
        y: _FloatArray = np.asarray(curve(x), single) * per_unit
        return y

    with np.errstate(all="ignore"):
        here = _rounded(at(least + numbers * step))
        middle = _rounded(at(least + numbers * step + step / single(2)))
        between = _rounded((at(least + (numbers + single(1)) * step) + here) / single(2))
        moved = here - _rounded((between - middle) / single(2))
        last = _rounded(at(np.asarray([most], single)))
    table: Table = np.clip(np.nan_to_num(np.concatenate((moved, last)), nan=0.0), _LOW, _HIGH).astype(
        np.int16
    )
    return table


def _rounded(x: _FloatArray) -> _FloatArray:
    """Rounds halves away from 0."""
    rounded: _FloatArray = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.float32)
    return rounded


def on_lines(x: Ints, table: Table) -> Ints:
    """Interpolates stored inputs in a table."""
    wide, number = table.astype(np.int64), (x >> _STEP_BITS) + _STEPS // 2
    slope = (wide[number + 1] - wide[number]).astype(np.int16).astype(np.int64)
    y: Ints = wide[number] + ((slope * (x & 127) + 64) >> _STEP_BITS)
    return y.astype(np.int16).astype(np.int64)


# Sigmoid and tanh of 16-bit fixed-point numbers: linear interpolation in a table of 256 entries.


def _entry(i: int) -> int:
    """Returns sigmoid(i / 24) as a fraction of 2**16, plus half the error of a line to the next entry."""
    s = 1 / (1 + math.exp(-i / 24))
    curvature = s * (1 - s) * (2 * s - 1)
    return math.floor(65536 * (s + curvature / (16 * 24**2)) + 0.5)


# The argument is first multiplied by 3/4, so that 255 entries cover 16 bits.
SIGMOID_TABLE = (*(_entry(i) for i in range(255)), 65535)
_TABLE = np.array(SIGMOID_TABLE, np.int64)


def sigmoid_16(x: Ints, multiplier: int = 3, right: int = 0) -> Ints:
    """Returns the sigmoid of x * multiplier / 2**right / 3, with 12 fraction bits, as a fraction of 2**15."""
    scaled = _scaled(x, multiplier, right)
    magnitude = np.abs(scaled)
    step = np.minimum(magnitude >> 9, 254)
    line = (_TABLE[step] << 9) + (magnitude & 0x1FF) * (_TABLE[step + 1] - _TABLE[step])
    result = np.where(magnitude >> 9 >= 255, 0x7FFF << 10, line)
    either: Ints = np.where(scaled >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return either >> 10


def tanh_16(x: Ints, multiplier: int = 3, right: int = 0) -> Ints:
    """Returns the tanh of x * multiplier / 2**right / 3, with 12 fraction bits, as a fraction of 2**15."""
    scaled = _scaled(x, multiplier, right)
    magnitude = np.abs(scaled)
    step = np.minimum(magnitude >> 8, 254)
    line = (_TABLE[step] << 8) + (magnitude & 0xFF) * (_TABLE[step + 1] - _TABLE[step])
    result = np.where(magnitude >> 8 >= 255, 0xFFFF << 8, line)
    half = 1 << 23
    either: Ints = np.where(scaled >= 0, result - half + (1 << 7), -result + half + (1 << 7) - 1)
    return either >> 8


def _scaled(x: Ints, multiplier: int, right: int) -> Ints:
    rounding = 1 << (right - 1) if right > 0 else 0
    scaled: Ints = (x * multiplier + rounding) >> right
    return scaled


# Softmax of 16-bit integers: exponential and reciprocal by linear interpolation in tables.

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
