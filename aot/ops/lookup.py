"""Lookup: replaces each 8-bit element by its entry in a table of 256. Chains of small ops become lookups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


# Replaces an element-wise 8-bit op by a table of 256 results.


def table_of(
    op: Op, constants: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
) -> Array | None:
    """Returns the result for each stored value of the one non-constant operand, smallest value first.

    `constants` has None for operands that are not constant. Returns None if results depend on anything else.
    """
    operands = zip(constants, inputs, strict=True)
    unknown = [i for i, (c, t) in enumerate(operands) if c is None and t is not None]
    if len(unknown) != 1 or unknown[0] not in op.elementwise or len(outputs) != 1:
        return None
    (position,), (out,) = unknown, outputs
    x = required(inputs[position])
    repeated = [c for i, c in enumerate(constants) if i in op.elementwise and c is not None]
    bytes_ = (DType.I8, DType.U8)
    if x.dtype not in bytes_ or out.dtype not in bytes_ or any(np.unique(c).size != 1 for c in repeated):
        return None
    low, high = x.dtype.limits
    arrays, types = list(constants), list(inputs)
    for i, array in enumerate(constants):
        if i in op.elementwise and array is not None:
            arrays[i], types[i] = array.reshape(-1)[:1], replace(required(inputs[i]), shape=(1,))
    arrays[position] = np.arange(low, high + 1).astype(x.dtype.numpy)
    types[position] = replace(x, shape=(high - low + 1,))
    (results,) = op.reference(arrays, types, (replace(out, shape=(high - low + 1,)),))
    return results
