"""Concatenation along rows, columns or channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required


def _dtypes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(t).dtype for t in (*inputs, *outputs)]
    return None if len(set(found)) == 1 else f"they are {', '.join(d.value for d in found)}"


def _axis(op: Concat, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    shape = required(inputs[0]).shape
    is_beside = op.axis == len(shape) - 1 or (len(shape) == 4 and shape[0] == 1 and op.axis == 2)
    fact = f"axis {op.axis} of shape {limits.shape_text(inputs[0])}"
    return None if is_beside or behind(op.axis, shape) else fact


def behind(axis: int, shape: Sequence[int]) -> bool:
    """Returns whether tensors joined along the axis follow each other in memory, row by row."""
    if len(shape) == 4 and shape[0] == 1:
        return axis == 1
    return axis < len(shape) - 1 and prod(shape[:axis]) == 1


def _shapes(op: Concat, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    others = {tuple(d for a, d in enumerate(required(t).shape) if a != op.axis) for t in inputs}
    same_rank = len({required(t).rank for t in inputs}) == 1
    if same_rank and len(others) == 1:
        return None
    return f"they have shapes {', '.join(limits.shape_text(t) for t in inputs)}"


def _present(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return None if inputs and all(t is not None for t in inputs) else f"it has {len(inputs)}"


@dataclass(frozen=True, slots=True)
class Concat(Op):
    """Inputs: one or more. Stored elements are copied unchanged, so importers rescale them to one scale."""

    name: ClassVar[str] = "concat"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        Constraint("there must be at least one input", _present),
        Constraint("inputs and output must have one element type", _dtypes),
        Constraint(
            "the axis must be rows, columns or channels of images, the last, or the first larger than 1",
            _axis,
        ),
        Constraint("inputs must have the same shape except along the axis", _shapes),
    )
    axis: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        first = required(inputs[0])
        length = sum(required(t).shape[self.axis] for t in inputs)
        return ((first.dtype.value, (*first.shape[: self.axis], length, *first.shape[self.axis + 1 :])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        return (np.concatenate([required(a) for a in arrays], axis=self.axis),)
