"""Activations, which are clamps at the end of a layer, and the stored result of an exact sum."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops.requant import Ints, Multipliers, multiply_by_quantized_multiplier, quant_of
from aot.ops.rounding import RequantRounding


class Activation(Enum):
    """The function applied to each result before it is stored."""

    NONE = "none"
    RELU = "relu"
    RELU6 = "relu6"
    RELU_N1_TO_1 = "relu_n1_to_1"
    RELU_0_TO_1 = "relu_0_to_1"
    FINITE = "finite"  # infinity becomes the largest finite number; no effect on integers

    @property
    def real_limits(self) -> tuple[float, float]:
        """Returns the smallest and the largest float result."""
        return _REAL_LIMITS[self]


_LARGEST = float(np.finfo(np.float32).max)
_REAL_LIMITS = {
    Activation.NONE: (-math.inf, math.inf),
    Activation.RELU: (0.0, math.inf),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
    Activation.RELU_0_TO_1: (0.0, 1.0),
    Activation.FINITE: (-_LARGEST, _LARGEST),
}


def integer_clamp(activation: Activation, out_type: TensorType) -> tuple[int, int]:
    """Returns the smallest and the largest stored integer of a quantized output."""
    smallest, largest = out_type.dtype.limits
    low, high = activation.real_limits
    if activation is Activation.FINITE:
        return smallest, largest
    if math.isfinite(low):
        smallest = max(smallest, _stored(low, out_type))
    if math.isfinite(high):
        largest = min(largest, _stored(high, out_type))
    return smallest, largest


def plain_clamp(activation: Activation, out_type: TensorType) -> tuple[int, int]:
    """Returns the smallest and the largest integer of an output without quantization."""
    smallest, largest = out_type.dtype.limits
    low, high = activation.real_limits
    return max(smallest, int(low)) if math.isfinite(low) else smallest, (
        int(high) if math.isfinite(high) else largest
    )


def clamp_integers(values: Ints, activation: Activation, out_type: TensorType) -> Array:
    """Clamps to the activation and the output's integer range; returns the output's element type."""
    low, high = integer_clamp(activation, out_type)
    return np.clip(values, low, high).astype(out_type.dtype.numpy)


def clamp_reals(values: Array, activation: Activation) -> Array:
    """Clamps to the activation; returns float32."""
    low, high = activation.real_limits
    return np.clip(values, low, high).astype(DType.F32.numpy)


def _stored(real: float, out_type: TensorType) -> int:
    # The reference divides in single precision and rounds half away from zero.
    quant = quant_of(out_type)
    steps = float(np.float32(real) / np.float32(quant.scale))
    return quant.zero_point + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


# Turns an exact sum of products into the stored result: bias, requantization, activation.


# Sums of products of integers up to 16 bits stay below 2**53 for any layer that fits in memory, so
# double-precision BLAS is exact. For float32 models it is the most precise reference available.
FloatArray = npt.NDArray[np.float64]


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
