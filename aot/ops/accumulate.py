"""Turns an exact sum of products into the stored result: bias, requantization, activation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, TensorType
from aot.ops.activation import Activation, clamp_integers, clamp_reals
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of
from aot.ops.rounding import RequantRounding

# Sums of products of integers up to 16 bits stay below 2**53 for any layer that fits in memory, so
# double-precision BLAS is exact. For float32 models it is the most precise reference available.
FloatArray = npt.NDArray[np.float64]
Multipliers = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


def centred(x: Array, x_type: TensorType) -> FloatArray:
    """Returns the input as float64: integers minus their zero point, in units of the scale."""
    floats = x.astype(np.float64)
    return floats - quant_of(x_type).zero_point if x_type.dtype.is_integer else floats


def with_bias(sums: FloatArray, bias: Array | None) -> FloatArray:
    return sums if bias is None else sums + bias.astype(np.float64)


def finish_integers(
    sums: FloatArray,
    multipliers: Multipliers,
    out_type: TensorType,
    activation: Activation,
    rounding: RequantRounding,
) -> Array:
    """Returns the stored results of accumulators whose last axis is the output channel."""
    mult, shift = (m.astype(np.int64) for m in multipliers)
    scaled = multiply_by_quantized_multiplier(sums.astype(np.int64), mult, shift, rounding)
    return clamp_integers(scaled + quant_of(out_type).zero_point, activation, out_type)


def finish_reals(sums: FloatArray, activation: Activation) -> Array:
    return clamp_reals(sums, activation)
