"""Logarithm of a softmax over the last axis: x - max - log(sum(exp(x - max)))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.fixed_point import logarithm
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import (
    INT32_MIN,
    Ints,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from aot.ops.softmax import (
    DIFF_INTEGER_BITS,
    MOST_ELEMENTS,
    SUM_INTEGER_BITS,
    SoftmaxParameters,
    exp_table,
    softmax_parameters,
)
from aot.ops.unary import output_is

LOG_SHIFT = 31 - DIFF_INTEGER_BITS - 4  # from differences to units of 1/16


def least_difference(p: SoftmaxParameters, log_sum: Ints) -> Ints:
    """Returns the lower bound of x - max; below it, results would overflow the fixed-point range."""
    mult, shift = reverse_multiplier(p)
    reached = multiply_by_quantized_multiplier(log_sum + INT32_MIN, mult, shift)
    return np.maximum(p.diff_min - 1, reached)


def reverse_multiplier(p: SoftmaxParameters) -> tuple[int, int]:
    """Returns (mult, shift) from fixed-point differences to differences of stored integers."""
    return quantize_multiplier(2.0 ** (31 - p.left_shift) / p.mult)


def _length(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if not x.shape:
        return "it is a scalar"
    return f"there are {x.shape[-1]}" if x.dtype is DType.I8 and x.shape[-1] > MOST_ELEMENTS else None


def _resolution(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if x.quant is None or 2.0 ** (DIFF_INTEGER_BITS - 31) <= x.quant.scale < 2.0**4:
        return None
    return f"it is {x.quant.scale:.3g}"


@dataclass(frozen=True, slots=True)
class LogSoftmax(Op):
    """Input: x of rank 1 or more."""

    name: ClassVar[str] = "log_softmax"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.F32),
        limits.INT8_IS_QUANTISED,
        Constraint(
            f"there must be a last axis, of at most {MOST_ELEMENTS} elements if the input is i8", _length
        ),
        Constraint("the scale of an i8 input must be between 2**-26 and 16", _resolution),
        output_is(1 / 16, 127, "1/16"),
    )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type = required(arrays[0]), required(inputs[0])
        below = x.astype(np.float64) - x.max(axis=-1, keepdims=True)
        if x_type.dtype is DType.F32:
            return ((below - np.log(np.exp(below).sum(axis=-1, keepdims=True))).astype(np.float32),)
        return (_of_integers(below.astype(np.int64), x_type),)


def _of_integers(below: Ints, x_type: TensorType) -> Array:
    """Returns the stored results for x - max, in units of 1/16 below 127."""
    p = softmax_parameters(x_type, 1.0)
    exps = exp_table(x_type, 1.0)[-below].astype(np.int64)
    sums = rounding_divide_by_pot(exps, SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    log_sum = logarithm(sums, SUM_INTEGER_BITS, DIFF_INTEGER_BITS)
    is_seen = below > least_difference(p, log_sum)
    scaled = multiply_by_quantized_multiplier(np.where(is_seen, below, 0), p.mult, p.left_shift)
    results = rounding_divide_by_pot(scaled - log_sum, LOG_SHIFT) + 127
    return np.where(is_seen, np.clip(results, -128, 127), -128).astype(np.int8)
