"""Average pooling: the mean of the pixels in the window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import FloatArray, clamp_integers, clamp_reals
from aot.ops.op import Arrays, Types, required
from aot.ops.requant import Ints
from aot.ops.spatial import Pool2d, pad, patches


class Halves(Enum):
    """Rounds a mean half way between two integers."""

    AWAY = "away from 0"
    UP = "up"  # like away from 0 on unsigned bytes: 128 was added to each integer in the file
    TO_EVEN = "to even"
    TO_ODD = "to odd"  # like to even if counted from an odd zero point


@dataclass(frozen=True, slots=True)
class AveragePool2d(Pool2d):
    """Averages the pixels in each window. For integers, `halves` sets how halves are rounded."""

    name: ClassVar[str] = "average_pool2d"

    halves: Halves = Halves.AWAY

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, (out_type,) = required(arrays[0]), outputs
        counts = self._sums(np.ones((1, *x.shape[1:3], 1)))
        sums = self._sums(x.astype(np.float64))
        if out_type.dtype is DType.F32:
            return (clamp_reals(sums / counts, self.activation),)
        means = mean(sums.astype(np.int64), counts.astype(np.int64), self.halves)
        return (clamp_integers(means, self.activation, out_type),)

    def _sums(self, x: FloatArray) -> FloatArray:
        windows = patches(pad(x, self.padding, 0), self.size, self.stride, (1, 1))
        return np.asarray(windows.sum(axis=(4, 5)), np.float64)


def mean(sums: Ints, counts: Ints, halves: Halves) -> Ints:
    """Returns sums / counts, rounded to the nearest integer."""
    return _MEANS[halves](sums, counts)


def _halves_up(sums: Ints, counts: Ints) -> Ints:
    means: Ints = (sums + counts // 2) // counts
    return means


def _halves_away(sums: Ints, counts: Ints) -> Ints:
    magnitudes: Ints = (np.abs(sums) + counts // 2) // counts
    return np.where(sums < 0, -magnitudes, magnitudes)


def _halves_to_even(sums: Ints, counts: Ints) -> Ints:
    return _halves_by_parity(sums, counts, stays=0)


def _halves_to_odd(sums: Ints, counts: Ints) -> Ints:
    return _halves_by_parity(sums, counts, stays=1)


def _halves_by_parity(sums: Ints, counts: Ints, stays: int) -> Ints:
    """Rounds halves to the integer that is `stays` modulo 2."""
    whole, twice = sums // counts, 2 * (sums % counts)
    means: Ints = whole + ((twice > counts) | ((twice == counts) & (whole % 2 != stays)))
    return means


_MEANS = {
    Halves.AWAY: _halves_away,
    Halves.UP: _halves_up,
    Halves.TO_EVEN: _halves_to_even,
    Halves.TO_ODD: _halves_to_odd,
}
