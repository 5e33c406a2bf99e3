"""Element-wise comparison of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.binary_rescale import compare_parameters, rescaled
from aot.ops.elementwise import SHAPES_FIT, Elementwise, one_type
from aot.ops.op import Arrays, Constraint, Op, Types, required


class Relation(Enum):
    """A relation; the value is its name in graph text."""

    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"


HOLDS: Mapping[Relation, Callable[..., Array]] = {
    Relation.EQUAL: np.equal,
    Relation.NOT_EQUAL: np.not_equal,
    Relation.LESS: np.less,
    Relation.LESS_EQUAL: np.less_equal,
    Relation.GREATER: np.greater,
    Relation.GREATER_EQUAL: np.greater_equal,
}


def _scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    quants = [required(t).quant for t in inputs]
    if all(q is None for q in quants) or quants[0] == quants[1]:
        return None
    if any(q is None or q.is_per_channel or q.scale >= 1 for q in quants):
        return "they have " + ", ".join("none" if q is None else f"scale {q.scales[0]:.3g}" for q in quants)
    return None


@dataclass(frozen=True, slots=True)
class Compare(Elementwise):
    """Inputs: x1, x2 of one type. Integers with different quantizations are compared with 8 fraction bits."""

    name: ClassVar[str] = "compare"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        one_type(),
        Constraint("inputs of different quantizations must have scales below 1", _scales),
        SHAPES_FIT,
    )
    relation: Relation = Relation.EQUAL

    def result_dtype(self, inputs: Types) -> DType:
        return DType.BOOL

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x1, x2, first, second = (
            required(arrays[0]),
            required(arrays[1]),
            required(inputs[0]),
            required(inputs[1]),
        )
        if is_rescaled(inputs):
            p = compare_parameters(first, second)
            x1 = rescaled(x1, first, p.first, p.left_shift)
            x2 = rescaled(x2, second, p.second, p.left_shift)
        return (HOLDS[self.relation](x1, x2),)


def is_rescaled(inputs: Types) -> bool:
    """Returns whether the integers have different scales and must be rescaled before comparing."""
    first, second = required(inputs[0]).quant, required(inputs[1]).quant
    return first is not None and second is not None and first != second
