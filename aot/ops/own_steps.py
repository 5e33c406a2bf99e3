"""Quantizes floats by a range measured in the run, as input of LiteRT's hybrid convolutions.

All elements of an image share one scale, from the range of the image; sums of integer products are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.dynamic_range import DynamicRange, half_away
from aot.ops.elementwise import SHAPES_FIT, Elementwise
from aot.ops.op import Arrays, Constraint, Types, required


class RangeFact(Enum):
    """A number derived from a range; the value is its name in graph text. A reach is symmetric around 0."""

    STEP_OF_REACH = "step_of_reach"
    INVERSE_OF_REACH = "inverse_of_reach"  # factor from floats to steps
    STEP_OF_RANGE = "step_of_range"
    INVERSE_OF_RANGE = "inverse_of_range"
    LEAST_STEPS = "least_steps"  # of a range, from its zero point
    MOST_STEPS = "most_steps"


_FACTS: Mapping[RangeFact, tuple[bool, Callable[[DynamicRange], Any]]] = MappingProxyType(
    {
        RangeFact.STEP_OF_REACH: (False, lambda own: own.step),
        RangeFact.INVERSE_OF_REACH: (False, lambda own: own.inverse),
        RangeFact.STEP_OF_RANGE: (True, lambda own: own.step),
        RangeFact.INVERSE_OF_RANGE: (True, lambda own: own.inverse),
        RangeFact.LEAST_STEPS: (True, lambda own: own.limits[0]),
        RangeFact.MOST_STEPS: (True, lambda own: own.limits[1]),
    }
)


def fact_of(by: RangeFact, least: float, most: float) -> float:
    """Returns a fact of the range from `least` to `most`, extended to include 0."""
    is_asymmetric, fact = _FACTS[by]
    zero = np.float32(0)
    return float(fact(DynamicRange(min(np.float32(least), zero), max(np.float32(most), zero), is_asymmetric)))


@dataclass(frozen=True, slots=True)
class MeasuredRange(Elementwise):
    """Inputs: the smallest and the largest element."""

    name: ClassVar[str] = "measured_range"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        limits.same_dtype_in(DType.F32),
        SHAPES_FIT,
    )
    by: RangeFact = RangeFact.STEP_OF_RANGE

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        least, most = np.broadcast_arrays(required(arrays[0]), required(arrays[1]))
        facts = [fact_of(self.by, *ends) for ends in zip(least.flat, most.flat, strict=True)]
        return (np.array(facts, np.float32).reshape(least.shape),)


@dataclass(frozen=True, slots=True)
class DynamicQuantize(Elementwise):
    """Inputs: x, factor from floats to steps, smallest and largest step. Rounds halves away from 0."""

    name: ClassVar[str] = "in_own_steps"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(4, 4),
        limits.same_dtype_in(DType.F32),
        SHAPES_FIT,
    )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, inverse, low, high = (required(array).astype(np.float32) for array in arrays)
        with np.errstate(over="ignore"):
            near = np.minimum(np.maximum(x * inverse, low), high)
        return (half_away(near).astype(np.float32),)
