"""A sum of two int8 values as one line: (a * first + b * second + start) >> shift, clamped.

The reference rounds each operand and the result. There are only 65,536 pairs of values, so a search at
compile time finds integers with which the line equals the reference for every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from aot.ops.binary_rescale import AddParameters
from aot.ops.requant import Ints, multiply_by_quantized_multiplier

_BYTES: npt.NDArray[np.int64] = np.arange(-128, 128, dtype=np.int64)
_LIMIT = 1 << 31
_REACH = 4  # factors to try on either side of the nearest ones
_FINENESSES = 3  # shifts to try
_SHIFTS = range(24, 1, -1)  # finest first; all are possible with two narrowing shifts on Helium


@dataclass(frozen=True, slots=True)
class SumLine:
    first: int
    second: int
    start: int
    shift: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The least and greatest results that a line may have for every pair of operands."""

    least: Ints  # bound of (line >> shift)
    most: Ints


@lru_cache(maxsize=256)
def line_of_sum(
    sign: str, p: AddParameters, zero_points: tuple[int, int], zero_point: int, limits: tuple[int, int]
) -> SumLine | None:
    """Searches for a line that equals the stored a + b or a - b, clamped to limits; None if there is none."""
    slopes = _slopes(sign, p)
    wanted = _wanted(sign, p, zero_points, zero_point, limits)
    reach = 128 * (abs(slopes[0]) + abs(slopes[1]))
    fitting = [shift for shift in _SHIFTS if reach * (1 << shift) < _LIMIT]
    for shift in fitting[:_FINENESSES]:
        found = _line(slopes, shift, wanted, limits)
        if found is not None:
            return found
    return None


def _slopes(sign: str, p: AddParameters) -> tuple[float, float]:
    first, second, out = (mult / 2.0**31 * 2.0**shift for mult, shift in (p.first, p.second, p.out))
    steps = out * (1 << p.left_shift)
    return first * steps, second * steps * (1 if sign == "+" else -1)


def _wanted(
    sign: str, p: AddParameters, zero_points: tuple[int, int], zero_point: int, limits: tuple[int, int]
) -> _Wanted:
    a, b = (
        multiply_by_quantized_multiplier((_BYTES - zero) << p.left_shift, *multiplier)
        for zero, multiplier in zip(zero_points, (p.first, p.second), strict=True)
    )
    total = a[:, None] + (b if sign == "+" else -b)[None, :]
    stored = np.clip(multiply_by_quantized_multiplier(total, *p.out) + zero_point, *limits)
    beyond = 1 << 20  # clamped results are unbounded on one side
    least = np.where(stored > limits[0], stored, -beyond)
    return _Wanted(least, np.where(stored < limits[1], stored, beyond))


def _line(
    slopes: tuple[float, float], shift: int, wanted: _Wanted, limits: tuple[int, int]
) -> SumLine | None:
    near = [round(slope * (1 << shift)) for slope in slopes]
    steps = range(-_REACH, _REACH + 1)
    for one, other in sorted(product(steps, steps), key=lambda s: abs(s[0]) + abs(s[1])):
        first, second = near[0] + one, near[1] + other
        without = (_BYTES * first)[:, None] + (_BYTES * second)[None, :]
        low = int(((wanted.least << shift) - without).max())
        high = int((((wanted.most + 1) << shift) - 1 - without).min())
        start = (low + high) // 2
        if low <= high and int(np.abs(without).max()) + abs(start) < _LIMIT:
            return SumLine(first, second, start, shift)
    return None
