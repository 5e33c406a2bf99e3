"""Requantization: float multipliers as integers, and the exact product with them.

A multiplier m is stored as (mult, shift): m ~= mult / 2**31 * 2**shift, with mult in [2**30, 2**31). All
functions accept and return int64 arrays whose values fit in 32 bits (47 bits if the multiplier is reduced),
and are exact.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aot.ir.types import Quant, TensorType
from aot.ops.rounding import RequantRounding

Ints = npt.NDArray[np.int64]
Multipliers = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]  # (mult, shift) by channel
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
_LAYERS_KEPT = 1024


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Returns the nearest (mult, shift) of a non-negative float; (0, 0) if it is too small to matter."""
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    mult = math.floor(fraction * 2**31 + 0.5)  # positive, so half up is half away from zero
    if mult == 2**31:
        mult, shift = mult // 2, shift + 1
    return (0, 0) if shift < -31 else (mult, shift)


def saturating_rounding_doubling_high_mul(a: Ints, b: Ints | int) -> Ints:
    """Returns round(a * b / 2**31), half towards plus infinity; the one overflow, (-2**31)**2, saturates."""
    product: Ints = (a * b + (1 << 30)) >> 31
    return np.minimum(product, INT32_MAX)


def rounding_divide_by_pot(x: Ints, exponent: Ints | int) -> Ints:
    """Returns round(x / 2**exponent), half away from zero."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    threshold = (mask >> 1) + (x < 0)
    rounded: Ints = (x >> exponent) + ((x & mask) > threshold)
    return rounded


def multiply_by_quantized_multiplier(
    x: Ints, mult: Ints | int, shift: Ints | int, rounding: RequantRounding = RequantRounding.DOUBLE
) -> Ints:
    """Multiplies x by the float multiplier represented by (mult, shift), rounding twice or once."""
    return _MULTIPLY[rounding](x, np.asarray(mult, np.int64), np.asarray(shift, np.int64))


def _multiply_rounding_twice(x: Ints, mult: Ints, shift: Ints) -> Ints:
    # The shifted value has 32 bits in the reference: multipliers above one wrap around.
    shifted = (x << np.maximum(shift, 0)).astype(np.int32).astype(np.int64)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, mult), np.maximum(-shift, 0))


def _multiply_rounding_once(x: Ints, mult: Ints, shift: Ints) -> Ints:
    total_shift = 31 - shift
    if np.abs(x).max(initial=0) <= 1 << 31:
        scaled: Ints = (x * mult + (np.int64(1) << (total_shift - 1))) >> total_shift
        return scaled
    # In two halves, so that sums beyond 32 bits times 31 bits fit in 64 bits.
    low = (x & 0xFFFF) * mult + (np.int64(1) << (total_shift - 1))
    halves: Ints = ((x >> 16) * mult + (low >> 16)) >> (total_shift - 16)
    return halves


def _multiply_with_even_halves(x: Ints, mult: Ints, shift: Ints) -> Ints:
    return _with_halves(x, mult, shift, 0)


def _multiply_with_odd_halves(x: Ints, mult: Ints, shift: Ints) -> Ints:
    return _with_halves(x, mult, shift, 1)


def _with_halves(x: Ints, mult: Ints, shift: Ints, parity: int) -> Ints:
    """Rounds once; exact halves go to the integer that is `parity` modulo 2."""
    up = _multiply_rounding_once(x, mult, shift)
    down = -_multiply_rounding_once(-x, mult, shift)  # halves down
    nearest: Ints = np.where(up % 2 == parity, up, down)
    return nearest


def _multiply_reduced(x: Ints, mult: Ints, shift: Ints) -> Ints:
    total_shift = 15 - shift
    scaled: Ints = (x * reduced_multiplier(mult) + (np.int64(1) << (total_shift - 1))) >> total_shift
    return scaled


def reduced_multiplier(mult: Ints) -> Ints:
    """Returns the 16-bit multiplier for 64-bit sums."""
    reduced: Ints = np.where(mult < 0x7FFF0000, (mult + (1 << 15)) >> 16, 0x7FFF)
    return reduced


_MULTIPLY = {
    RequantRounding.REDUCED: _multiply_reduced,
    RequantRounding.DOUBLE: _multiply_rounding_twice,
    RequantRounding.SINGLE: _multiply_rounding_once,
    RequantRounding.EVEN: _multiply_with_even_halves,
    RequantRounding.ODD: _multiply_with_odd_halves,
}


def conv_requant(
    x_type: TensorType,
    w_type: TensorType,
    out_type: TensorType,
    channels: int,
    scales_in_single: bool = False,
) -> Multipliers:
    """Returns (mult, shift) per output channel of an int8 convolution or dense layer: in * w / out.

    The scales in the file are single precision; the arithmetic is double. LiteRT multiplies the scales of
    unsigned convolutions in single precision, which changes the last bits and with them results.
    """
    x, w, out = quant_of(x_type), quant_of(w_type), quant_of(out_type)
    return _conv_multipliers(x.scale, _per_channel(w.scales, channels), out.scale, scales_in_single)


@lru_cache(_LAYERS_KEPT)
def _conv_multipliers(
    x_scale: float, w_scales: tuple[float, ...], out_scale: float, in_single: bool
) -> Multipliers:
    """Caches results, which each run in Python and each kernel tried for a layer need."""
    real = np.float32 if in_single else np.float64
    products = np.array(w_scales, real) * real(x_scale)
    mults, shifts = _quantize_multipliers(products.astype(np.float64) / out_scale)
    mults.flags.writeable = shifts.flags.writeable = False
    return mults, shifts


def quant_of(tensor: TensorType) -> Quant:
    """Returns the quantization that the op's constraints guarantee."""
    if tensor.quant is None:
        raise ValueError(f"expected a quantized tensor, not {tensor}")
    return tensor.quant


def _per_channel(scales: tuple[float, ...], channels: int) -> tuple[float, ...]:
    return scales * channels if len(scales) == 1 else scales


def _quantize_multipliers(floats: npt.NDArray[np.float64]) -> Multipliers:
    """Like quantize_multiplier, for all channels of a layer."""
    fractions, shifts = np.frexp(floats)
    mults = np.floor(fractions * 2**31 + 0.5).astype(np.int64)
    is_one = mults == 2**31
    mults, shifts = np.where(is_one, mults // 2, mults), shifts + is_one
    matters = (shifts >= -31) & (mults > 0)
    return np.where(matters, mults, 0).astype(np.int32), np.where(matters, shifts, 0).astype(np.int32)
