"""Groups the lines of a matrix into rows, and maps broadcast operands to these rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from aot.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """A value as lines along its last axis; several consecutive lines form a row."""

    lines: int
    lines_per_row: int

    @property
    def count(self) -> int:
        return self.lines // self.lines_per_row

    def of(self, tensor: TensorType) -> TensorType:
        return replace(tensor, shape=(1, self.count, self.lines_per_row, tensor.shape[-1]))


@dataclass(frozen=True, slots=True)
class SeenInRows:
    """The rows of an operand as seen by the result; `picks` maps each result row to an operand row."""

    shape: tuple[int, int, int, int]
    picks: npt.NDArray[np.int32] | None = None  # None: the same rows, or a single row


def seen_in_rows(shape: tuple[int, ...], result: tuple[int, ...], rows: MatrixRows) -> SeenInRows | None:
    """Returns the rows of an operand broadcast to the result's shape; None if it has no such rows."""
    *before, channels = (1,) * (len(result) - len(shape)) + shape or (1,)
    sizes = result[:-1]
    if all(size == 1 for size in before):
        return SeenInRows((1, 1, 1, channels))
    if tuple(before) == sizes:
        return SeenInRows((1, rows.count, rows.lines_per_row, channels))
    first = next(axis for axis, size in enumerate(before) if size != 1)
    last = max(axis for axis, size in enumerate(before) if size != 1)
    held, after = prod(before), prod(sizes[last + 1 :])
    if prod(sizes[first : last + 1]) != held:
        return None
    if after == 1 and held % rows.lines_per_row == 0:
        own = held // rows.lines_per_row
        return SeenInRows((1, own, rows.lines_per_row, channels), np.arange(rows.count, dtype=np.int32) % own)
    if after % rows.lines_per_row == 0:
        picks = np.arange(rows.count, dtype=np.int32) // (after // rows.lines_per_row) % held
        return SeenInRows((1, held, 1, channels), picks)
    return None
