"""Softmax over the last axis: exp(beta * x) / sum(exp(beta * x))."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.curves_16 import softmax_16
from aot.ops.fixed_point import exp_of_negative, reciprocal
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import (
    Ints,
    quant_of,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)

DIFF_INTEGER_BITS = 5  # of beta * scale * (x - max)
SUM_INTEGER_BITS = 12  # of the sum of exponentials
_MOST_OF_16 = 1 << 16  # fractions of 2**15, whose sum fits in 32 bits
_COARSEST_16 = 4.0  # a 17-bit difference in units of 10 / 65535 fits, too
MOST_ELEMENTS = (1 << SUM_INTEGER_BITS) - 1  # the sum of that many ones fits


@dataclass(frozen=True, slots=True)
class SoftmaxParameters:
    """beta * scale in fixed point, and the smallest x - max whose exponential is not treated as zero."""

    mult: int
    left_shift: int
    diff_min: int


def softmax_parameters(x_type: TensorType, beta: float) -> SoftmaxParameters:
    """Returns the fixed-point scale of x - max in an int8 softmax, with DIFF_INTEGER_BITS integer bits."""
    fraction_bits = 31 - DIFF_INTEGER_BITS
    real = min(float(np.float32(beta)) * quant_of(x_type).scale * (1 << fraction_bits), 2.0**31 - 1.0)
    mult, left_shift = quantize_multiplier(real)
    radius = ((1 << DIFF_INTEGER_BITS) - 1) * (1 << fraction_bits) / (1 << left_shift)
    return SoftmaxParameters(mult, left_shift, diff_min=-math.floor(radius))


def exp_table(x_type: TensorType, beta: float) -> npt.NDArray[np.int32]:
    """Returns exp(beta * scale * -d) * 2**31 for d = max - x = 0 .. 255 in int8 softmax; 0 beyond diff_min.

    With e = exp_table, n elements per row and m their maximum, the result in integers is
        sum    = SUM(rdiv(e[m - x], 12))                      # rdiv: rounding_divide_by_pot
        scale, bits = reciprocal(sum, 12)                     # fixed_point.reciprocal
        y      = rdiv(srdhm(scale, e[m - x]), bits + 23) - 128, at most 127
    with srdhm = saturating_rounding_doubling_high_mul. If e is 0, y is -128.
    """
    p = softmax_parameters(x_type, beta)
    diffs = -np.arange(256, dtype=np.int64)
    kept = diffs >= p.diff_min
    scaled = saturating_rounding_doubling_high_mul(np.where(kept, diffs, 0) << p.left_shift, p.mult)
    return np.where(kept, exp_of_negative(scaled, DIFF_INTEGER_BITS), 0).astype(np.int32)


def _probabilities(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    (y,) = outputs
    steps, least = 1 << (8 * y.dtype.bytes), 0 if y.dtype is DType.F32 else y.dtype.limits[0]
    if required(inputs[0]).dtype is DType.I16:
        steps, least = 1 << 15, 0
    if y.quant is None or (y.quant.zero_point == least and abs(y.quant.scale * steps - 1) <= 1e-3):
        return None
    return f"scale {y.quant.scale:.6g}, zero point {y.quant.zero_point}"


def _resolution(op: Softmax, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if x.quant is None:
        return None
    step = op.beta * x.quant.scale
    if x.dtype is DType.I16:
        fits = x.quant.zero_point == 0 and step < _COARSEST_16
        return None if fits else f"it is {step:.3g}, the zero point {x.quant.zero_point}"
    return None if step >= 2.0 ** (DIFF_INTEGER_BITS - 31) else f"it is {step:.3g}"


def _length(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    most = {DType.I8: MOST_ELEMENTS, DType.I16: _MOST_OF_16}.get(x.dtype)
    return None if most is None or not x.shape or x.shape[-1] <= most else f"there are {x.shape[-1]}"


def _dtypes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = required(inputs[0]).dtype, outputs[0].dtype
    possible = ((DType.F32,) * 2, (DType.I8,) * 2, (DType.I8, DType.I16), (DType.I16,) * 2)
    return None if found in possible else " become ".join(d.value for d in found)


@dataclass(frozen=True, slots=True)
class Softmax(Op):
    """Input: x of any rank."""

    name: ClassVar[str] = "softmax"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint("elements must be f32, i16, or i8 with results of i8 or i16", _dtypes),
        limits.INTEGERS_ARE_QUANTISED,
        Constraint(
            f"an input must have at most {MOST_ELEMENTS} elements along the last axis (i16: 2**16)", _length
        ),
        Constraint(
            "beta * input scale must be at least 2**-26 for i8 inputs; for i16 below 4, and the zero point 0",
            _resolution,
        ),
        Constraint(
            "an i8 output must have scale 1/256 and zero point -128, an i16 output 1/65536 and -32768, "
            "or 1/32768 and 0 if the input is i16",
            _probabilities,
        ),
    )
    beta: float = 1.0
    result: DType | None = None  # if it differs from the input's

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return (((self.result or x.dtype).value, x.shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type = required(arrays[0]), required(inputs[0])
        below = x.max(axis=-1, keepdims=True).astype(np.float64) - x
        if x_type.dtype is DType.F32:
            exps = np.exp(-self.beta * below)
            return ((exps / exps.sum(axis=-1, keepdims=True)).astype(np.float32),)
        if x_type.dtype is DType.I16:
            return (softmax_16(-below.astype(np.int64), x_type, self.beta),)
        exps = exp_table(x_type, self.beta)[below.astype(np.int64)].astype(np.int64)
        return (_integer_softmax(exps, outputs[0].dtype),)


def _integer_softmax(exps: Ints, dtype: DType) -> Array:
    """Returns the stored results for exponentials with no integer bits."""
    sums = rounding_divide_by_pot(exps, SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    scale, bits = reciprocal(sums, SUM_INTEGER_BITS)
    shares = rounding_divide_by_pot(
        saturating_rounding_doubling_high_mul(exps, scale), bits + 31 - 8 * dtype.bytes
    )
    low, high = dtype.limits
    return np.clip(shares + low, low, high).astype(dtype.numpy)
