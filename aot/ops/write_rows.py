"""Writes rows into a tensor, at positions computed in the run or at its end: how caches are updated.

If the tensor is a state and the result its next value, the compiler updates it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required


def _dtypes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(inputs[0]).dtype, required(inputs[1]).dtype, outputs[0].dtype]
    return None if len(set(found)) == 1 else ", ".join(d.value for d in found)


def _rows_fit(op: WriteRows | ShiftRows, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, rows = required(inputs[0]), required(inputs[1])
    fact = f"{limits.shape_text(rows)} into {limits.shape_text(x)} along axis {op.axis}"
    if x.rank != rows.rank or not 0 <= op.axis < x.rank:
        return fact
    others = [(r, d) for a, (r, d) in enumerate(zip(rows.shape, x.shape, strict=True)) if a != op.axis]
    fits = all(r == d for r, d in others) and rows.shape[op.axis] <= x.shape[op.axis]
    return None if fits else fact


def _places(op: WriteRows, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    rows, places = required(inputs[1]), required(inputs[2])
    is_integer = places.dtype in (DType.I32, DType.I64)
    if is_integer and places.elements == rows.shape[op.axis]:
        return None
    return f"{places.dtype.value} {limits.shape_text(places)} for {rows.shape[op.axis]} rows"


_FITS = (
    Constraint("input, rows and output must have one element type", _dtypes),
    Constraint("the rows must fit into the input", _rows_fit),
)


@dataclass(frozen=True, slots=True)
class WriteRows(Op):
    """Inputs: x, rows, the position of each row along the axis.

    Rows are written in order. A negative index counts from the end. A position outside writes nothing.
    """

    name: ClassVar[str] = "write_rows"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        *_FITS,
        Constraint("each row needs a position of i32 or i64", _places),
    )
    axis: int = 0
    by_index: bool = True  # positions are indices: negative ones count from the end, others must be inside

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, rows, places = (required(a) for a in arrays)
        made = x.copy()
        to, source = np.moveaxis(made, self.axis, 0), np.moveaxis(rows, self.axis, 0)
        for row, place in zip(source, places.reshape(-1).tolist(), strict=True):
            place += len(to) if place < 0 and self.by_index else 0
            if 0 <= place < len(to):
                to[place] = row
        return (made,)


@dataclass(frozen=True, slots=True)
class ShiftRows(Op):
    """Inputs: x, rows. Drops as many rows from the front of the axis, and appends the rows at its end."""

    name: ClassVar[str] = "shift_rows"
    constraints: ClassVar[tuple[Constraint, ...]] = (limits.input_count(2, 2), *_FITS)
    axis: int = 0

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, rows = (required(a) for a in arrays)
        count = rows.shape[self.axis]
        kept = np.take(x, np.arange(count, x.shape[self.axis]), self.axis)
        return (np.concatenate([kept, rows], self.axis),)
