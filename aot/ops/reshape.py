"""Reshape: the same elements in the same order with another shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from aot.ir.types import Array, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required


def _same_elements(op: Reshape, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, elements = required(inputs[0]), prod(op.shape)
    return None if x.elements == elements else f"{x.elements} would become {elements}"


@dataclass(frozen=True, slots=True)
class Reshape(Op):
    """Input: x of any element type."""

    name: ClassVar[str] = "reshape"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.DTYPE_IS_KEPT,
        Constraint("the number of elements must stay the same", _same_elements),
    )
    shape: tuple[int, ...] = ()

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((required(inputs[0]).dtype.value, self.shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        return (required(arrays[0]).reshape(self.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost()
