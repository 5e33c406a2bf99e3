"""Padding: rows and columns with one value around an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.spatial import NO_PADDING, Padding, pad


def _value(op: Pad, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if not x.dtype.is_integer:
        return None
    low, high = x.dtype.limits
    return None if low <= op.value <= high and op.value == int(op.value) else f"it is {op.value}"


@dataclass(frozen=True, slots=True)
class Pad(Op):
    """Input: x [1, H, W, C]. The value is a stored integer or float, not dequantized."""

    name: ClassVar[str] = "pad"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(*DType),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        Constraint("the element type must be able to hold the value", _value),
    )
    padding: Padding = NO_PADDING  # (top, bottom), (left, right)
    value: float = 0.0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        n, height, width, channels = x.shape
        return ((x.dtype.value, (n, height + sum(self.padding[0]), width + sum(self.padding[1]), channels)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        return (pad(required(arrays[0]), self.padding, self.value),)
