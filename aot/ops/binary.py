"""Binary arithmetic: sums, differences and products of two tensors, one perhaps repeated over the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Array
from aot.ir.types import DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers, clamp_reals
from aot.ops.op import ONE_ROW, ROW_BY_ROW, Constraint, Cost, Op, Types, Window, given
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier

Floats = npt.NDArray[np.float32]
T = TypeVar("T")
Pair = tuple[T, T]


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
_MAX_PRODUCT_RESCALE = 2.0**13  # a product of nine-bit numbers, shifted left, must fit in 32 bits


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


def mul_multiplier(x1_type: TensorType, x2_type: TensorType, out_type: TensorType) -> tuple[int, int]:
    """(mult, shift) of an int8 product."""
    return quantize_multiplier(quant_of(x1_type).scale * quant_of(x2_type).scale / quant_of(out_type).scale)


def rescaled(x: Array, x_type: TensorType, multiplier: tuple[int, int]) -> Ints:
    """An operand of an addition at the scale of the sum."""
    shifted = (x.astype(np.int64) - quant_of(x_type).zero_point) << _LEFT_SHIFT
    return multiply_by_quantized_multiplier(shifted, *multiplier)


def _types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    first, second = given(inputs[0]), given(inputs[1])
    if first.dtype is not second.dtype:
        return f"{first.dtype.value} and {second.dtype.value}"
    return limits.INT8_IS_QUANTISED.violation(op, (second,), outputs)


def _sum_scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x1, x2, (y,) = given(inputs[0]), given(inputs[1]), outputs
    if x1.quant is None or x2.quant is None or y.quant is None:
        return None
    ratio = max(x1.quant.scale, x2.quant.scale) / y.quant.scale
    return None if 2 * ratio < 1 << _LEFT_SHIFT else f"it is {ratio:.3g} times as large"


def _product_scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x1, x2, (y,) = given(inputs[0]), given(inputs[1]), outputs
    if x1.quant is None or x2.quant is None or y.quant is None:
        return None
    factor = x1.quant.scale * x2.quant.scale / y.quant.scale
    return None if factor < _MAX_PRODUCT_RESCALE else f"it is {factor:.3g}"


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    first, second = given(inputs[0]), given(inputs[1])
    fact = f"{limits.shape_text(first)} and {limits.shape_text(second)}"
    if first.rank != second.rank:
        return fact
    try:
        whole = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return fact
    return None if repeats_simply(first.shape, whole) and repeats_simply(second.shape, whole) else fact


def repeats_simply(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether each row of the whole is read from one row of that shape."""
    if len(whole) == 4 and whole[0] == 1:
        return True
    return shape[:-1] == whole[:-1] or all(d == 1 for d in shape[:-1])


_SHARED = (
    limits.input_count(2, 2),
    limits.same_dtype_in(DType.I8, DType.F32),
    limits.INT8_IS_QUANTISED,
    Constraint("both inputs must have the same element type and, if i8, be quantised", _types),
)
_SHAPES_FIT = Constraint(
    "both inputs must have the same shape, or one is repeated: along rows, columns or channels of an "
    "image, or as a vector or number for every vector of the other",
    _shapes,
)
_SUM_SCALES_FIT = Constraint(
    "the larger input scale must be less than 2**19 times the output scale", _sum_scales
)


@dataclass(frozen=True, slots=True)
class Binary(Op):
    """Inputs: x1, x2 of one rank; their quantisations may differ."""

    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    activation: Activation = Activation.NONE

    @abstractmethod
    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        """The meaning in real numbers."""

    @abstractmethod
    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        """The int8 meaning before the zero point is added and the result clamped."""

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x1, x2 = given(inputs[0]), given(inputs[1])
        return ((x1.dtype.value, np.broadcast_shapes(x1.shape, x2.shape)),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        (out_type,) = outputs
        x1, x2 = given(arrays[0]), given(arrays[1])
        if out_type.dtype is DType.F32:
            return (
                clamp_reals(self.on_reals(x1.astype(np.float32), x2.astype(np.float32)), self.activation),
            )
        types = given(inputs[0]), given(inputs[1])
        results = self.on_integers((x1, x2), types, out_type)
        return (clamp_integers(results + quant_of(out_type).zero_point, self.activation, out_type),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)

    def row_map(self, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Window | None, ...]:
        (out,) = outputs
        if out.rank != 4:
            return (None, None)
        return tuple(ROW_BY_ROW if given(x).shape[1] == out.shape[1] else ONE_ROW for x in inputs)


@dataclass(frozen=True, slots=True)
class Add(Binary):
    """x1 + x2."""

    name: ClassVar[str] = "add"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, _SUM_SCALES_FIT, _SHAPES_FIT)

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 + x2

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        p, (x1, x2) = add_parameters(*types, out), arrays
        sums = rescaled(x1, types[0], p.first) + rescaled(x2, types[1], p.second)
        return multiply_by_quantized_multiplier(sums, *p.out)


@dataclass(frozen=True, slots=True)
class Sub(Binary):
    """x1 - x2."""

    name: ClassVar[str] = "sub"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, _SUM_SCALES_FIT, _SHAPES_FIT)

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 - x2

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        p, (x1, x2) = add_parameters(*types, out), arrays
        differences = rescaled(x1, types[0], p.first) - rescaled(x2, types[1], p.second)
        return multiply_by_quantized_multiplier(differences, *p.out)


@dataclass(frozen=True, slots=True)
class Mul(Binary):
    """x1 * x2, element by element."""

    name: ClassVar[str] = "mul"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        Constraint(
            "the product of the input scales must be below 2**13 times the output scale", _product_scales
        ),
        _SHAPES_FIT,
    )

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 * x2

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        first, second = (
            x.astype(np.int64) - quant_of(t).zero_point for x, t in zip(arrays, types, strict=True)
        )
        return multiply_by_quantized_multiplier(first * second, *mul_multiplier(*types, out))
