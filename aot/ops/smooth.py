"""Exponential smoothing along rows: a weighted sum of the input and the previous result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.signal import numbers_within

_DTYPES = (DType.U32, DType.F32)


def _shares(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, *rows = (required(t) for t in inputs)
    fits = all(row.shape == (1, 1, *x.shape[2:]) for row in rows)
    return None if fits else " and ".join(limits.shape_text(t) for t in (x, *rows))


def _shifts(op: Smooth, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    is_plain = (op.up, op.down) == (0, 0)
    fits = is_plain if required(inputs[0]).dtype is DType.F32 else float(op.first).is_integer()
    return None if fits else f"up is {op.up}, down is {op.down}, first is {op.first:g}"


@dataclass(frozen=True, slots=True)
class Smooth(Op):
    """Inputs: x [1, T, W, C], new, old. y[t] = (2^up * x[t] * new + y[t - 1] * old) / 2^down.

    y[-1] is the optional fourth input, otherwise `first` everywhere. Integers are unsigned and rounded down,
    like in noise_estimate, which processes one row at a time.
    """

    name: ClassVar[str] = "smooth"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 4),
        limits.same_dtype_in(*_DTYPES),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        Constraint("new, old and previous values must have the shape of a row", _shares),
        numbers_within(0, 31, "up", "down"),
        Constraint("floats must not be shifted, and for integers `first` must be 1", _shifts),
    )
    up: int = 0
    down: int = 0
    first: float = 0.0

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, new, old, *given = (required(array) for array in arrays)
        made = np.empty_like(x)
        before = given[0][0, 0] if given else np.full_like(x[0, 0], self.first)
        for t, row in enumerate(x[0]):
            before = made[0, t] = self._next(row, before, new[0, 0], old[0, 0])
        return (made,)

    def _next(self, *row: Array) -> Array:
        if row[0].dtype == np.float32:
            x, before, new, old = (array.astype(np.float64) for array in row)
            return (x * new + before * old).astype(np.float32)
        wide, kept, a, b = (array.astype(np.uint64) for array in row)
        scaled = (wide << np.uint64(self.up)) & np.uint64(DType.U32.limits[1])
        made: Array = ((scaled * a + kept * b) >> np.uint64(self.down)).astype(np.uint32)
        return made
