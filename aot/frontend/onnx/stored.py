"""The integers that float constants were in the file, with scales and zero points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType, Quant, TensorType


@dataclass(frozen=True)
class Stored:
    """Three arrays of one shape: float = scale * (integer - zero point), element by element."""

    integers: Array
    scales: Array
    zero_points: Array

    def moved(self, move: Callable[[Array], Array]) -> Stored:
        """Returns the same integers with the elements rearranged."""
        return Stored(move(self.integers), move(self.scales), move(self.zero_points))

    def symmetric(self, axis: int) -> tuple[TensorType, Array] | None:
        """Returns weights minus their zero points, with one scale or one per index of an axis; or None."""
        scales = along(self.scales, axis)
        if scales is None or not self.integers.size:
            return None
        centred = self.integers.astype(np.int64) - self.zero_points.astype(np.int64)
        dtype = next((d for d in (DType.I8, DType.I16) if _fits(centred, d)), None)
        if dtype is None:
            return None
        data = np.ascontiguousarray(centred.astype(dtype.numpy))
        return TensorType(dtype, data.shape, _quant(scales, axis)), data

    def alike(self) -> tuple[TensorType, Array] | None:
        """Returns 8-bit activations with one scale and one zero point for all; or None."""
        scales, zeros = np.unique(self.scales), np.unique(self.zero_points)
        if scales.size != 1 or zeros.size != 1:
            return None
        is_unsigned = int(self.integers.max(initial=0)) > DType.I8.limits[1]
        below = 128 if is_unsigned else 0
        data = self.integers.astype(np.int64) - below
        zeros = zeros.astype(np.int64) - below
        if not _fits(data, DType.I8) or not _fits(zeros, DType.I8):
            return None
        quant = Quant((float(scales[0]),), (int(zeros[0]),))
        return TensorType(DType.I8, data.shape, quant), data.astype(np.int8)


def along(numbers: Array, axis: int) -> Array | None:
    """Returns the numbers for each index of the axis, if nothing else changes them."""
    lines = np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)
    first = lines[:, 0]
    return first if bool((lines == first[:, np.newaxis]).all()) else None


def _quant(scales: Array, axis: int) -> Quant:
    found = tuple(float(s) for s in scales)
    if len(set(found)) == 1:
        return Quant(found[:1], (0,))
    return Quant(found, (0,) * len(found), axis)


def _fits(numbers: Array, dtype: DType) -> bool:
    low, high = dtype.limits
    return bool(numbers.min() >= low and numbers.max() <= high)
