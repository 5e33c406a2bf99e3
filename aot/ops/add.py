"""Addition of two tensors of the same shape, with a fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers, clamp_reals
from aot.ops.op import ROW_BY_ROW, Constraint, Cost, Op, Types, Window, given
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier


@dataclass(frozen=True, slots=True)
class AddParameters:
    """How two int8 values of different scales are added; each multiplier is (mult, shift), shift <= 0.

    sum = m1((x1 - zero_point_1) << left_shift) + m2((x2 - zero_point_2) << left_shift)
    y = m_out(sum) + zero_point_out; each m rounds twice (multiply_by_quantized_multiplier).
    """

    left_shift: int
    first: tuple[int, int]
    second: tuple[int, int]
    out: tuple[int, int]


_LEFT_SHIFT = 20  # as far as nine bits can go in 32 with room for the sum


def add_parameters(x1_type: TensorType, x2_type: TensorType, out_type: TensorType) -> AddParameters:
    """The multipliers of an int8 addition; both inputs are brought to twice the larger scale first."""
    first, second = quant_of(x1_type).scale, quant_of(x2_type).scale
    twice_larger = 2.0 * max(first, second)
    return AddParameters(
        left_shift=_LEFT_SHIFT,
        first=quantize_multiplier(first / twice_larger),
        second=quantize_multiplier(second / twice_larger),
        out=quantize_multiplier(twice_larger / ((1 << _LEFT_SHIFT) * quant_of(out_type).scale)),
    )


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    first, second = given(inputs[0]), given(inputs[1])
    if first.shape == second.shape:
        return None
    return f"{limits.shape_text(first)} and {limits.shape_text(second)}"


def _types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    first, second = given(inputs[0]), given(inputs[1])
    if first.dtype is not second.dtype:
        return f"{first.dtype.value} and {second.dtype.value}"
    return limits.INT8_IS_QUANTISED.violation(op, (second,), outputs)


def _scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x1, x2, (y,) = given(inputs[0]), given(inputs[1]), outputs
    if x1.quant is None or x2.quant is None or y.quant is None:
        return None
    ratio = max(x1.quant.scale, x2.quant.scale) / y.quant.scale
    return None if 2 * ratio < 1 << _LEFT_SHIFT else f"it is {ratio:.3g} times as large"


@dataclass(frozen=True, slots=True)
class Add(Op):
    """Inputs: x1, x2 of one shape; their quantisations may differ."""

    name: ClassVar[str] = "add"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        limits.same_dtype_in(DType.I8, DType.F32),
        limits.INT8_IS_QUANTISED,
        Constraint("both inputs must have the same element type and, if i8, be quantised", _types),
        Constraint("the larger input scale must be less than 2**19 times the output scale", _scales),
        Constraint("both inputs must have the same shape (no broadcasting)", _shapes),
    )
    activation: Activation = Activation.NONE

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = given(inputs[0])
        return ((x.dtype.value, x.shape),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        (x1, x2), (x1_type, x2_type), (out_type,) = arrays, inputs, outputs
        if out_type.dtype is DType.F32:
            real_sums = given(x1).astype(np.float32) + given(x2).astype(np.float32)
            return (clamp_reals(real_sums, self.activation),)
        p = add_parameters(given(x1_type), given(x2_type), out_type)
        sums = _rescaled(given(x1), given(x1_type), p.first) + _rescaled(given(x2), given(x2_type), p.second)
        results = multiply_by_quantized_multiplier(sums, *p.out) + quant_of(out_type).zero_point
        return (clamp_integers(results, self.activation, out_type),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)

    def row_map(self, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Window | None, ...]:
        return ((ROW_BY_ROW if outputs[0].rank == 4 else None),) * 2


def _rescaled(x: Array, x_type: TensorType, multiplier: tuple[int, int]) -> Ints:
    shifted = (x.astype(np.int64) - quant_of(x_type).zero_point) << _LEFT_SHIFT
    return multiply_by_quantized_multiplier(shifted, *multiplier)
