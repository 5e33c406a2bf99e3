"""The order of products, chosen so that partial sums fit into 16 bits.

Two sums share a 32-bit register for some products, the taps of an iteration, before they are added to 32-bit
sums. A value has 8 bits, so the absolute weights of an iteration may add up to at most 255 in any channel.
Large weights are often neighbors; another order then permits three or four taps per iteration instead of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array

MOST_WEIGHT = 255  # of an iteration: 128 times as much, plus rounding, fits into 16 bits
_MOST_SWAPS = 24
_FULL = np.iinfo(np.int64).max
_Sums = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TapOrder:
    """The taps of each kernel row in order, with a fixed number per iteration; -1 is a zero."""

    taps: int
    rows: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        """Returns the taps of a kernel row, with padding zeros."""
        return len(self.rows[0])

    def reordered(self, weights: Array) -> Array:
        """Returns the weights [channel][kernel row]... as [channel][tap]."""
        channels, rows = weights.shape[:2]
        flat = np.pad(weights.reshape(channels, rows, -1), ((0, 0), (0, 0), (0, 1)))
        parts = [flat[:, row, list(order)] for row, order in enumerate(self.rows)]
        return np.concatenate(parts, axis=1)

    @property
    def elements(self) -> Array:
        """Returns the element of a window's row for each tap; any element for zeros."""
        flat = np.array([max(tap, 0) for row in self.rows for tap in row])
        return flat.astype(np.int8 if flat.max() < 128 else np.int16)


def tap_order(weights: Array, taps: int) -> TapOrder | None:
    """Returns an order with that many taps per iteration, or None if none was found.

    Assigns taps, largest weights first, to the iteration where they fit best. Taps that exceed the limit are
    then swapped a limited number of times.
    """
    channels, rows = weights.shape[:2]
    return _found(weights.tobytes(), (channels, rows, weights.size // (channels * rows)), taps)


@lru_cache(maxsize=512)
def _found(data: bytes, shape: tuple[int, int, int], taps: int) -> TapOrder | None:
    sizes = np.abs(np.frombuffer(data, np.int8).reshape(shape).astype(np.int64))
    found = [_of_row(sizes[:, row], taps) for row in range(shape[1])]
    rows = tuple(each for each in found if each is not None)
    return TapOrder(taps, rows) if len(rows) == len(found) else None


def _of_row(sizes: _Sums, taps: int) -> tuple[int, ...] | None:
    """Returns the order for absolute weights [channel][tap]."""
    turns = -(-sizes.shape[1] // taps)
    if sizes.sum(axis=1).max() > turns * MOST_WEIGHT:
        return None
    length = sizes.shape[1]
    sizes = np.pad(sizes, ((0, 0), (0, turns * taps - length)))
    members, sums = _largest_first(sizes, turns, taps)
    for _ in range(_MOST_SWAPS):
        if (sums <= MOST_WEIGHT).all():
            return tuple(tap if tap < length else -1 for turn in members for tap in turn)
        if not _swap(sizes, members, sums):
            return None
    return None


def _largest_first(sizes: _Sums, turns: int, taps: int) -> tuple[list[list[int]], _Sums]:
    """Returns the taps of each iteration, and its weight in each channel."""
    sums = np.zeros((len(sizes), turns), np.int64)
    members: list[list[int]] = [[] for _ in range(turns)]
    for tap in np.argsort(-sizes.max(axis=0), kind="stable"):
        with_tap = sums + sizes[:, tap : tap + 1]
        cost = _beyond(with_tap) * (1 << 20) + with_tap.max(axis=0)
        cost[[len(turn) == taps for turn in members]] = _FULL
        best = int(cost.argmin())
        members[best].append(int(tap))
        sums[:, best] += sizes[:, tap]
    return members, sums


def _beyond(sums: _Sums) -> _Sums:
    """Returns by how much each iteration exceeds the limit."""
    return np.asarray(np.maximum(sums - MOST_WEIGHT, 0).sum(axis=0))


def _swap(sizes: _Sums, members: list[list[int]], sums: _Sums) -> bool:
    """Swaps a tap of the worst iteration for another's; returns False if no swap helps."""
    beyond = _beyond(sums)
    worst = int(beyond.argmax())
    turn_of = np.repeat(np.arange(len(members)), len(members[0]))
    every = np.array(members).reshape(-1)
    best = (0, 0, 0)
    for place, tap in enumerate(members[worst]):
        moved = sizes[:, every] - sizes[:, tap : tap + 1]
        change = _beyond(sums[:, worst : worst + 1] + moved) + _beyond(sums[:, turn_of] - moved)
        change = change - beyond[worst] - beyond[turn_of]
        change[turn_of == worst] = 0
        other = int(change.argmin())
        best = min(best, (int(change[other]), place, other))
    gain, place, other = best
    if gain == 0:
        return False
    turn, its_place = divmod(other, len(members[0]))
    tap, new = members[worst][place], members[turn][its_place]
    members[worst][place], members[turn][its_place] = new, tap
    moved = sizes[:, new] - sizes[:, tap]
    sums[:, worst] += moved
    sums[:, turn] -= moved
    return True
