"""Unpadded rows: which taps of a window are inside the row, for each column of the result.

Taps outside are skipped. Their zero points are then missing from the sums, so the sums of such columns start
from an adjusted bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array


@dataclass(frozen=True, slots=True)
class Columns:
    """Neighboring columns of a result, and the taps of a kernel row inside for them."""

    first: int
    count: int
    taps: range


def columns_of(
    width: int, outputs: int, taps: int, stride: int, dilation: int, left: int
) -> tuple[Columns, ...]:
    """Returns the kinds of columns from left to right. Windows begin `left` pixels before the row."""
    found: list[Columns] = []
    for column in range(outputs):
        begin = column * stride - left
        first = min(taps, max(0, -(begin // dilation)))
        stop = min(taps, max(first, (width - 1 - begin) // dilation + 1))
        inside = range(first, stop)
        if found and found[-1].taps == inside:
            found[-1] = Columns(found[-1].first, found[-1].count + 1, inside)
        else:
            found.append(Columns(column, 1, inside))
    return tuple(found)


def whole_first(columns: tuple[Columns, ...], taps: int) -> tuple[Columns, ...]:
    """Returns the columns with the whole window first; empty if no column has it, or one has no tap."""
    whole = tuple(each for each in columns if len(each.taps) == taps)
    others = tuple(each for each in columns if len(each.taps) != taps)
    return (*whole, *others) if len(whole) == 1 and all(each.taps for each in columns) else ()


def bias_inside(bias: Array, weights: Array, taps: range, zero_point: int) -> Array:
    """Returns the bias of sums that skip taps.

    `bias` includes the zero point of all `weights` [channel][row][tap]...
    """
    outside = [t for t in range(weights.shape[2]) if t not in taps]
    left_out = weights[:, :, outside].astype(np.int64).reshape(len(weights), -1).sum(axis=1)
    return np.asarray(bias.astype(np.int64) + zero_point * left_out).astype(bias.dtype)
