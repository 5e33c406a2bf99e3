"""L2 normalization of vectors along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.fixed_point import inverse_root_multipliers
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of
from aot.ops.unary import output_is

LEAST_NORM = 1e-6  # smallest divisor of a float vector
OUTPUT_BITS = 7  # results are in units of 1/128
_MOST_ELEMENTS = 1 << 15  # squares of 9 bits then sum to 31 bits


def _length(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if not x.shape:
        return "it is a scalar"
    return f"there are {x.shape[-1]}" if x.dtype is DType.I8 and x.shape[-1] > _MOST_ELEMENTS else None


@dataclass(frozen=True, slots=True)
class L2Norm(Op):
    """Input: x. Divides each vector along the last axis by the square root of the sum of its squares."""

    name: ClassVar[str] = "l2_norm"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.F32),
        limits.INT8_IS_QUANTISED,
        Constraint("there must be a last axis, of at most 2**15 elements if the input is i8", _length),
        output_is(1 / 128, 0, "1/128"),
    )

    is_unsigned: bool = (
        False  # scaled to steps of the result before it is divided, as LiteRT's u8 kernel does
    )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type = required(arrays[0]), required(inputs[0])
        if x_type.dtype is DType.F32:
            floats = x.astype(np.float64)
            norms = np.sqrt((floats * floats).sum(axis=-1, keepdims=True))
            return ((floats / np.maximum(norms, LEAST_NORM)).astype(np.float32),)
        centred = x.astype(np.int64) - quant_of(x_type).zero_point
        mult, shift = inverse_root_multipliers((centred * centred).sum(axis=-1, keepdims=True))
        if self.is_unsigned:
            results = multiply_by_quantized_multiplier(centred << OUTPUT_BITS, mult, shift)
        else:
            results = multiply_by_quantized_multiplier(centred, mult, shift + OUTPUT_BITS)
        return (np.clip(results, *DType.I8.limits).astype(np.int8),)
