"""Average pooling: the mean of the real pixels under the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType, TensorType
from aot.ops import constraints as limits
from aot.ops.accumulate import Reals
from aot.ops.activation import clamp_integers, clamp_reals
from aot.ops.op import Constraint, Types, given
from aot.ops.pooling import WINDOW_SEES_PIXELS, Pool2d
from aot.ops.requant import Ints
from aot.ops.spatial import pad, patches


@dataclass(frozen=True, slots=True)
class AveragePool2d(Pool2d):
    """int8: the sum of the stored integers over the count of pixels, rounded half away from zero."""

    name: ClassVar[str] = "average_pool2d"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        limits.WINDOW_FITS,
        WINDOW_SEES_PIXELS,
        limits.INTEGERS_ARE_QUANTISED,
        limits.QUANTISATION_IS_KEPT,
    )

    is_unsigned: bool = False  # rounded as the mean of the integers plus 128 would be: halves up

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        x, (out_type,) = given(arrays[0]), outputs
        counts = self._sums(np.ones((1, *x.shape[1:3], 1)))
        sums = self._sums(x.astype(np.float64))
        if out_type.dtype is DType.F32:
            return (clamp_reals(sums / counts, self.activation),)
        rounded = mean_halves_up if self.is_unsigned else rounded_mean
        means = rounded(sums.astype(np.int64), counts.astype(np.int64))
        return (clamp_integers(means, self.activation, out_type),)

    def _sums(self, x: Reals) -> Reals:
        windows = patches(pad(x, self.padding, 0), self.size, self.stride, (1, 1))
        return np.asarray(windows.sum(axis=(4, 5)), np.float64)


def mean_halves_up(sums: Ints, counts: Ints) -> Ints:
    """sums / counts rounded half up."""
    means: Ints = (sums + counts // 2) // counts
    return means


def rounded_mean(sums: Ints, counts: Ints) -> Ints:
    """sums / counts rounded half away from zero."""
    magnitudes: Ints = (np.abs(sums) + counts // 2) // counts
    return np.where(sums < 0, -magnitudes, magnitudes)
