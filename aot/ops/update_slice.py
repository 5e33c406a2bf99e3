"""Replaces a slice of a tensor, at a position that may be computed in the run."""

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


def _fits(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, part = required(inputs[0]), required(inputs[1])
    if x.rank == part.rank and all(p <= d for p, d in zip(part.shape, x.shape, strict=True)):
        return None
    return f"{limits.shape_text(part)} into {limits.shape_text(x)}"


def _starts(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, starts = required(inputs[0]), required(inputs[2])
    is_integer = starts.dtype in (DType.I32, DType.I64)
    return (
        None
        if is_integer and starts.elements == x.rank
        else f"{starts.dtype.value} {limits.shape_text(starts)}"
    )


@dataclass(frozen=True, slots=True)
class UpdateSlice(Op):
    """Inputs: x, the slice, its start in each dimension (clamped so that the slice is inside)."""

    name: ClassVar[str] = "update_slice"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        Constraint("input, part and output must have one element type", _dtypes),
        Constraint("the part must fit into the input", _fits),
        Constraint("each dimension needs a start of i32 or i64", _starts),
    )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, part, starts = (required(a) for a in arrays)
        room = np.array(x.shape, np.int64) - np.array(part.shape, np.int64)
        begins = np.clip(starts.reshape(-1).astype(np.int64), 0, room)
        made = x.copy()
        made[tuple(slice(b, b + n) for b, n in zip(begins, part.shape, strict=True))] = part
        return (made,)
