"""Concatenation: tensors side by side, along columns or channels of images or along vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import TensorType
from aot.ops import constraints as limits
from aot.ops.op import ROW_BY_ROW, Constraint, Cost, Op, Types, Window, given


def _dtypes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [given(t).dtype for t in (*inputs, *outputs)]
    return None if len(set(found)) == 1 else f"they are {', '.join(d.value for d in found)}"


def _axis(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Concat)
    rank = given(inputs[0]).rank
    allowed = (2, 3) if rank == 4 and given(inputs[0]).shape[0] == 1 else (rank - 1,)
    return None if op.axis in allowed else f"axis {op.axis} of shape {limits.shape_text(inputs[0])}"


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Concat)
    others = {tuple(d for a, d in enumerate(given(t).shape) if a != op.axis) for t in inputs}
    same_rank = len({given(t).rank for t in inputs}) == 1
    if same_rank and len(others) == 1:
        return None
    return f"they have shapes {', '.join(limits.shape_text(t) for t in inputs)}"


def _present(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return None if inputs and all(t is not None for t in inputs) else f"it has {len(inputs)}"


@dataclass(frozen=True, slots=True)
class Concat(Op):
    """Inputs: one or more; stored elements are copied as they are, whatever their quantisation."""

    name: ClassVar[str] = "concat"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        Constraint("there must be at least one input", _present),
        Constraint("inputs and output must have one element type", _dtypes),
        Constraint("the axis must be columns or channels of images, or the last", _axis),
        Constraint("inputs must have the same shape but for the axis", _shapes),
    )
    axis: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        first = given(inputs[0])
        length = sum(given(t).shape[self.axis] for t in inputs)
        return ((first.dtype.value, (*first.shape[: self.axis], length, *first.shape[self.axis + 1 :])),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        return (np.concatenate([given(a) for a in arrays], axis=self.axis),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)

    def row_map(self, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Window | None, ...]:
        return (ROW_BY_ROW if outputs[0].rank == 4 else None,) * len(inputs)
