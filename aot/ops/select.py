"""Selection: each element from one of two tensors, chosen by a third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.elementwise import SHAPES_FIT, Elementwise, one_quantisation, one_type
from aot.ops.op import Arrays, Constraint, Op, Types, required


def _condition(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    dtype = required(inputs[0]).dtype
    return None if dtype is DType.BOOL else f"it is {dtype.value}"


@dataclass(frozen=True, slots=True)
class Select(Elementwise):
    """Inputs: condition, x (if true), y (if false). Stored elements are copied unchanged."""

    name: ClassVar[str] = "select"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        Constraint("the condition must be bool", _condition),
        one_type(1),
        one_quantisation(1),
        SHAPES_FIT,
    )
    elementwise: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        return (np.where(required(arrays[0]), required(arrays[1]), required(arrays[2])),)
