"""Running sums along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers
from aot.ops.binary_rescale import AddParameters, add_parameters, rescaled
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of

_NUMBERS = (DType.I8, DType.I32, DType.I64, DType.F32)


def _axis(op: Cumulate, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    return None if 0 <= op.axis < x.rank else f"axis {op.axis} of {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class Cumulate(Op):
    """Input: x. Sums include their own element unless exclusive; reverse starts at the end. Integers wrap."""

    name: ClassVar[str] = "cumulate"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(*_NUMBERS),
        limits.INT8_IS_QUANTISED,
        Constraint("the axis must exist", _axis),
    )
    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        if x_type.dtype is DType.F32:
            return (self._sums(x.astype(np.float64)).astype(np.float32),)
        if x_type.quant is None:
            return (self._sums(x.astype(np.int64)).astype(out.dtype.numpy),)
        p = add_parameters(x_type, x_type, out)
        # The sums have 32 bits and wrap around.
        terms = rescaled(x, x_type, p.first, p.left_shift)
        sums = (self._sums(terms) + first_sum(x_type, p)).astype(np.int32).astype(np.int64)
        scaled = multiply_by_quantized_multiplier(sums, *p.out)
        return (clamp_integers(scaled + quant_of(out).zero_point, Activation.NONE, out),)

    def _sums(self, x: Array) -> Array:
        turned = np.flip(x, self.axis) if self.reverse else x
        sums: Array = np.cumsum(turned, axis=self.axis)
        sums = np.subtract(sums, turned) if self.exclusive else sums
        return np.flip(sums, self.axis) if self.reverse else sums


def first_sum(x_type: TensorType, p: AddParameters) -> int:
    """Returns the initial value of quantized sums: TFLite Micro, the only reference, starts at a stored 0."""
    return int(rescaled(np.zeros((), np.int64), x_type, p.first, p.left_shift))
