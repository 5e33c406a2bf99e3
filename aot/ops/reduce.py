"""Reductions along some dimensions: sums, products, extremes, logic, indices of extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any, ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers
from aot.ops.elementwise import one_quantisation
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of, quantize_multiplier


class Reduction(Enum):
    """A reduction; the value is its name in graph text."""

    SUM = "sum"
    PRODUCT = "product"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    ANY = "any"
    ALL = "all"


_MEANINGS: Mapping[Reduction, Callable[..., Any]] = {
    Reduction.SUM: np.sum,
    Reduction.PRODUCT: np.prod,
    Reduction.MAXIMUM: np.max,
    Reduction.MINIMUM: np.min,
    Reduction.ANY: np.any,
    Reduction.ALL: np.all,
}
_OF_TRUTH = (Reduction.ANY, Reduction.ALL)
_EXTREMES = (Reduction.MAXIMUM, Reduction.MINIMUM)
_MOST_BITS = 31


def _elements(op: Reduce, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if x.dtype is not y.dtype or (op.by in _OF_TRUTH) != (x.dtype is DType.BOOL):
        return f"{op.by.value} of {x.dtype.value} gives {y.dtype.value}"
    return (
        f"{op.by.value} of quantized {x.dtype.value}"
        if x.quant is not None and op.by is Reduction.PRODUCT
        else None
    )


def _axes(op: Reduce, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    rank = required(inputs[0]).rank
    is_ordered = list(op.axes) == sorted(set(op.axes)) and all(0 <= a < rank for a in op.axes)
    return None if is_ordered else f"they are {list(op.axes)} of {rank}"


def _extreme_scales(op: Reduce, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return one_quantisation().violation(op, inputs, outputs) if op.by in _EXTREMES else None


def _sum_fits(op: Reduce, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if op.by is not Reduction.SUM or x.quant is y.quant is None:
        return None
    if x.quant is None or y.quant is None or x.quant.is_per_channel or y.quant.is_per_channel:
        return "only one of them has one"
    ratio = x.quant.scale / y.quant.scale
    bits = (
        x.dtype.bytes * 8 + 1 + op.count(x).bit_length() + max(0, int(np.log2(ratio)) + 1 if ratio > 0 else 0)
    )
    return None if bits <= _MOST_BITS else f"they take {bits} bits"


@dataclass(frozen=True, slots=True)
class Reduce(Op):
    """Input: x. Reduced dimensions remain with size 1. Integers without a quantization wrap around."""

    name: ClassVar[str] = "reduce"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint(
            "any and all need bool, products need unquantized numbers, all others need numbers", _elements
        ),
        Constraint("the axes must exist and be in order", _axes),
        Constraint("extremes must keep the quantization", _extreme_scales),
        Constraint("quantized sums must have a scale and fit 31 bits at the output's scale", _sum_fits),
    )
    by: Reduction = Reduction.SUM
    axes: tuple[int, ...] = (0,)

    def count(self, x: TensorType) -> int:
        """Returns the number of elements per result."""
        return prod(x.shape[a] for a in self.axes)

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, tuple(1 if a in self.axes else d for a, d in enumerate(x.shape))),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        wide = x.astype(np.float64) if x_type.dtype is DType.F32 else x
        if x_type.dtype.is_integer and self.by in (Reduction.SUM, Reduction.PRODUCT):
            wide = x.astype(np.int64)
        with np.errstate(over="ignore"):
            results = _MEANINGS[self.by](wide, axis=self.axes, keepdims=True)
        if x_type.quant is None or self.by is not Reduction.SUM:
            return (np.asarray(results).astype(out.dtype.numpy),)
        centred = results - quant_of(x_type).zero_point * self.count(x_type)
        scaled = multiply_by_quantized_multiplier(centred, *sum_multiplier(x_type, out))
        return (clamp_integers(scaled + quant_of(out).zero_point, Activation.NONE, out),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[0]).elements)


def sum_multiplier(x_type: TensorType, out: TensorType) -> tuple[int, int]:
    """Returns (mult, shift) of a quantized sum."""
    return quantize_multiplier(quant_of(x_type).scale / quant_of(out).scale)


def _index_type(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    dtype = outputs[0].dtype
    return None if dtype in (DType.I32, DType.I64) else f"it is {dtype.value}"


def _index_axis(op: ArgExtreme, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if x.dtype is DType.BOOL:
        return "the input is bool"
    return None if 0 <= op.axis < x.rank else f"axis {op.axis} of {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class ArgExtreme(Op):
    """Input: x. Returns the index of the first extreme along the axis. The dimension remains with size 1.

    A NaN counts only at the first index, which then is the result.
    """

    name: ClassVar[str] = "arg_extreme"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint("the axis must exist and the input must be numbers", _index_axis),
        Constraint("the output must be i32 or i64", _index_type),
    )
    by: Reduction = Reduction.MAXIMUM
    axis: int = 0
    to: DType = DType.I32

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        shape = required(inputs[0]).shape
        return ((self.to.value, (*shape[: self.axis], 1, *shape[self.axis + 1 :])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, is_most = required(arrays[0]), self.by is Reduction.MAXIMUM
        find, last = (np.argmax, -np.inf) if is_most else (np.argmin, np.inf)
        if x.dtype.kind == "f":
            first = np.isnan(x.take([0], self.axis))
            x = np.where(np.isnan(x) | first, last, x)
        places = np.expand_dims(find(x, axis=self.axis), self.axis)
        return (places.astype(self.to.numpy),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[0]).elements)
