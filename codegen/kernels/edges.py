"""Rows without padding: which taps of a window lie inside the row, column by column of the result.

What lies outside is left out. Its zero points are in no sum then, so the sums of such columns begin
elsewhere: with a bias from which only the taps inside take the zero point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array


@dataclass(frozen=True, slots=True)
class Columns:
    """Neighbouring columns of a result, and the taps of a kernel row that they have inside."""

    first: int
    count: int
    taps: range


def columns_of(
    width: int, outputs: int, taps: int, stride: int, dilation: int, left: int
) -> tuple[Columns, ...]:
    """The kinds of columns from left to right; windows begin `left` pixels before the row."""
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
    """The columns with the whole window first; nothing where none has it, or one has no tap at all."""
    whole = tuple(each for each in columns if len(each.taps) == taps)
    others = tuple(each for each in columns if len(each.taps) != taps)
    return (*whole, *others) if len(whole) == 1 and all(each.taps for each in columns) else ()


def bias_inside(bias: Array, weights: Array, taps: range, zero_point: int) -> Array:
    """The bias of sums that leave taps out; all `weights` [channel][row][tap]... are folded into `bias`."""
    outside = [t for t in range(weights.shape[2]) if t not in taps]
    left_out = weights[:, :, outside].astype(np.int64).reshape(len(weights), -1).sum(axis=1)
    return np.asarray(bias.astype(np.int64) + zero_point * left_out).astype(bias.dtype)
