"""How values lie in rows of lines: all of theirs, one for all rows, or fewer that come again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from aot.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Lines:
    """A value as lines along its last axis, so many to a row."""

    count: int
    per_row: int

    @property
    def rows(self) -> int:
        return self.count // self.per_row

    def of(self, tensor: TensorType) -> TensorType:
        return replace(tensor, shape=(1, self.rows, self.per_row, tensor.shape[-1]))


@dataclass(frozen=True, slots=True)
class Seen:
    """The rows in which an operand is seen; `picks` names the one for each row of the result."""

    shape: tuple[int, int, int, int]
    picks: npt.NDArray[np.int32] | None = None  # where they are not the same rows, nor one


def seen_in_rows(shape: tuple[int, ...], result: tuple[int, ...], lines: Lines) -> Seen | None:
    """An operand that is repeated to the result's shape; None where its rows would not be rows of its own."""
    *before, channels = (1,) * (len(result) - len(shape)) + shape or (1,)
    sizes = result[:-1]
    if all(size == 1 for size in before):
        return Seen((1, 1, 1, channels))
    if tuple(before) == sizes:
        return Seen((1, lines.rows, lines.per_row, channels))
    first = next(axis for axis, size in enumerate(before) if size != 1)
    last = max(axis for axis, size in enumerate(before) if size != 1)
    held, after = prod(before), prod(sizes[last + 1 :])
    if prod(sizes[first : last + 1]) != held:
        return None
    if after == 1 and held % lines.per_row == 0:
        rows = held // lines.per_row
        return Seen((1, rows, lines.per_row, channels), np.arange(lines.rows, dtype=np.int32) % rows)
    if after % lines.per_row == 0:
        picks = np.arange(lines.rows, dtype=np.int32) // (after // lines.per_row) % held
        return Seen((1, held, 1, channels), picks)
    return None
