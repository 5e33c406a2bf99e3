"""Lookup: replaces each 8-bit element by its entry in a table of 256. Chains of small ops become lookups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required

_EIGHT_BITS = (DType.I8, DType.U8)


def _dtypes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(inputs[0]).dtype, outputs[0].dtype]
    return None if set(found) <= set(_EIGHT_BITS) else f"they are {', '.join(d.value for d in found)}"


def _table(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    table = required(inputs[1])
    if table.shape == (256,) and table.dtype is outputs[0].dtype:
        return None
    return f"it is {table.dtype.value} {limits.shape_text(table)}"


@dataclass(frozen=True, slots=True)
class Lookup(Op):
    """Inputs: x, table [256]; the entry for the smallest value of x comes first."""

    name: ClassVar[str] = "lookup"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        Constraint("input and output elements must be i8 or u8", _dtypes),
        Constraint("the table must have 256 elements of the output's type", _table),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((required(inputs[1]).dtype.value, required(inputs[0]).shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, table = required(arrays[0]), required(arrays[1])
        least, _ = required(inputs[0]).dtype.limits
        return (table[x.astype(np.int64) - least],)
