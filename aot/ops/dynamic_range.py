"""Quantizes floats to 8 bits by their range in the current run, like LiteRT's hybrid kernels.

Single and double precision are used as in LiteRT, so results match bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
