"""The mean of all pixels along rows, columns or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of, quantize_multiplier
from aot.ops.rounding import RequantRounding

ROWS, COLUMNS = 1, 2


@dataclass(frozen=True, slots=True)
class MeanParameters:
    """The rescaling of mean = m(sum - zero_point_in * count) + zero_point_out; m includes 1 / count."""

    mult: int
    shift: int
    rounding: RequantRounding = RequantRounding.DOUBLE


def mean_parameters(
    x_type: TensorType, out_type: TensorType, count: int, rounding: RequantRounding
) -> MeanParameters:
    """Returns the rescaling of an integer mean, including the division by the count, as in the reference."""
    ratio = quant_of(x_type).scale / quant_of(out_type).scale
    if rounding is not RequantRounding.DOUBLE:
        return MeanParameters(*quantize_multiplier(ratio / count), rounding)
    mult, shift = quantize_multiplier(ratio)
    spare = max(0, min(count.bit_length() - 1, 32, 31 + shift))
    return MeanParameters((mult << spare) // count, shift - spare)


def _axes(op: Mean, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return None if op.axes in ((ROWS,), (COLUMNS,), (ROWS, COLUMNS)) else f"they are {list(op.axes)}"


# Sums of 9-bit and 17-bit numbers then stay below 2**31.
_MAX_COUNT = {DType.I8: 1 << 22, DType.I16: 1 << 14, DType.F32: 1 << 22}


# Means of 9 and 17 bits, in units of the output's scale, stay below 2**31, too.
_MAX_RATIO = {DType.I8: 2.0**20, DType.I16: 2.0**12}


def _count(op: Mean, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    count = op.count(x)
    return None if count <= _MAX_COUNT[x.dtype] else f"there are {count}"


def _shift(op: Mean, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if x.dtype is DType.F32 or x.quant is None or y.quant is None:
        return None
    ratio = x.quant.scale / y.quant.scale
    return None if 2.0**-20 < ratio < _MAX_RATIO[x.dtype] else f"it is {ratio:.3g} times as large"


@dataclass(frozen=True, slots=True)
class Mean(Op):
    """Input: x [1, H, W, C]. Reduced dimensions remain with size 1."""

    name: ClassVar[str] = "mean"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        limits.INTEGERS_ARE_QUANTISED,
        Constraint("the axes must be rows, columns or both", _axes),
        Constraint("a mean must be of at most 2**22 elements (i16: 2**14)", _count),
        Constraint(
            "the input scale must be more than 2**-20 and less than 2**20 (i16: 2**12) times the "
            "output scale",
            _shift,
        ),
    )
    axes: tuple[int, ...] = (ROWS, COLUMNS)
    rounding: RequantRounding = RequantRounding.DOUBLE

    def count(self, x: TensorType) -> int:
        """Returns the number of elements per result."""
        return int(np.prod([x.shape[axis] for axis in self.axes]))

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, tuple(1 if a in self.axes else d for a, d in enumerate(x.shape))),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        if out.dtype is DType.F32:
            return (x.astype(np.float64).mean(axis=self.axes, keepdims=True).astype(np.float32),)
        count = self.count(x_type)
        sums = x.astype(np.int64).sum(axis=self.axes, keepdims=True) - quant_of(x_type).zero_point * count
        p = mean_parameters(x_type, out, count, self.rounding)
        means = multiply_by_quantized_multiplier(sums, p.mult, p.shift, p.rounding)
        means = means + quant_of(out).zero_point
        return (clamp_integers(means, Activation.NONE, out),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[0]).elements)
