"""Solves the 0/1 knapsack problem by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MOST_UNITS = 1 << 16  # granularity of the capacity; larger sizes are rounded up


def most_valuable(sizes: Sequence[int], values: Sequence[int], room: int) -> tuple[int, ...]:
    """Returns the positions of the most valuable items that fit, sorted.

    The capacity is exact to a 65,536th; sizes are rounded to 4 bytes.
    """
    unit = max(4, -(-room // _MOST_UNITS))
    units = room // unit
    if sum(sizes) <= room:
        return tuple(range(len(sizes)))
    best = np.zeros(units + 1, np.int64)  # the best value for each capacity
    taken = np.zeros((len(sizes), units + 1), bool)
    for number, (size, value) in enumerate(zip(sizes, values, strict=True)):
        needs = -(-size // unit)
        if needs > units:
            continue
        with_it = best[: units + 1 - needs] + value
        taken[number, needs:] = with_it > best[needs:]
        best[needs:] = np.maximum(best[needs:], with_it)
    return _walked_back(taken, [-(-size // unit) for size in sizes], units)


def _walked_back(
    taken: np.ndarray[tuple[int, int], np.dtype[np.bool_]], needs: Sequence[int], left: int
) -> tuple[int, ...]:
    found = []
    for number in reversed(range(len(needs))):
        if taken[number, left]:
            found.append(number)
            left -= needs[number]
    return tuple(reversed(found))
