"""Recursive filters along the rows: second-order sections, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

COEFFICIENTS = 5  # per section: b0, b1, b2, a1, a2; a0 is 1
_MOST_SECTIONS = 16


def _sections(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    shape = required(inputs[1]).shape
    fits = len(shape) == 2 and shape[1] == COEFFICIENTS and 1 <= shape[0] <= _MOST_SECTIONS
    return None if fits else f"they are {limits.shape_text(required(inputs[1]))}"


@dataclass(frozen=True, slots=True)
class Biquads(Op):
    """Inputs: x [1, T, W, C], sections [S, 5]. Filters each column and channel separately, from rest.

    A section computes y[t] = b0 x[t] + b1 x[t-1] + b2 x[t-2] - a1 y[t-1] - a2 y[t-2] in the transposed form.
    """

    name: ClassVar[str] = "biquads"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        limits.same_dtype_in(DType.F32),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        Constraint(f"sections must be [S, {COEFFICIENTS}] with S from 1 to {_MOST_SECTIONS}", _sections),
    )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, sections = required(arrays[0]), required(arrays[1])
        made = x.copy()
        for b0, b1, b2, a1, a2 in sections:
            first, second = np.zeros_like(x[0, 0]), np.zeros_like(x[0, 0])
            for t, row in enumerate(made[0]):
                now = b0 * row + first
                first, second = (b1 * row - a1 * now) + second, b2 * row - a2 * now
                made[0, t] = now
        return (made,)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements * required(inputs[1]).shape[0])
