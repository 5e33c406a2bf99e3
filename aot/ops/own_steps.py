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
from aot.ops.elementwise import SHAPES_FIT, Elementwise
from aot.ops.op import Arrays, Constraint, Types, required

# Quantizes floats to 8 bits by their range in the current run, like LiteRT's hybrid kernels.
#
# Single and double precision are used as in LiteRT, so results match bit for bit.


_SYMMETRIC_STEPS, _ASYMMETRIC_STEPS = 127, 255  # (from 0, from the smallest) to the largest
_LOW, _HIGH = -128, 127


@dataclass(frozen=True, slots=True)
class DynamicRange:
    """The range of floats to quantize: least <= 0 <= most."""

    least: np.float32
    most: np.float32
    is_asymmetric: bool

    @property
    def step(self) -> np.float32:
        span, steps = self._span
        return _single(span / steps) if span else _single(1)

    @property
    def inverse(self) -> np.float32:
        """Returns the factor from floats to steps. For a symmetric range it is not computed from the step."""
        span, steps = self._span
        if self.is_asymmetric or not span:
            return _single(_single(1) / self.step)
        return _single(steps / span)

    @property
    def zero(self) -> int:
        span, steps = self._span
        if not self.is_asymmetric or not span:
            return 0
        step = float(span) / float(steps)
        from_least, from_most = float(self.least) / step, float(self.most) / step
        zero = _LOW - from_least if -_LOW - from_least < _HIGH + from_most else _HIGH - from_most
        return int(half_away(np.float64(min(max(zero, _LOW), _HIGH))))

    @property
    def limits(self) -> tuple[int, int]:
        """Returns the smallest and the largest number of steps from the zero point."""
        if not self.is_asymmetric:
            return -_SYMMETRIC_STEPS, _SYMMETRIC_STEPS
        return _LOW - self.zero, _HIGH - self.zero

    @property
    def _span(self) -> tuple[np.float32, np.float32]:
        """Returns the width of the range, and the number of steps in it."""
        if self.is_asymmetric:
            return _single(self.most - self.least), _single(_ASYMMETRIC_STEPS)
        return _single(max(-self.least, self.most)), _single(_SYMMETRIC_STEPS)


def _single(value: Any) -> np.float32:
    found: np.float32 = np.float32(value)
    return found


def dynamic_range(values: Any, is_asymmetric: bool) -> DynamicRange:
    zero = np.float32(0)
    return DynamicRange(min(values.min(), zero), max(values.max(), zero), is_asymmetric)


def steps_from_zero(values: Any, inverse: Any, low: int, high: int) -> Any:
    """Returns numbers in steps from the zero point, rounded to nearest."""
    scaled = np.asarray(values, np.float32) * np.float32(inverse)
    return half_away(np.clip(scaled, np.float32(low), np.float32(high)))


def half_away(values: Any) -> Any:
    """Rounds to the nearest integer, halves away from 0."""
    whole = np.trunc(values)
    return (whole + (values - whole >= 0.5) - (values - whole <= -0.5)).astype(np.int64)


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
