"""A packing of very many blocks that are there at the same time: each is placed once, and whole.

Pairs of blocks are not kept: of thousands that live together there are millions. A block shares bytes with
another only where one is dead before the other is born: coarser than the lives of its positions, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.plan.model import Pool
from aot.plan.place import AnyPacking, Partial, Placement
from aot.plan.rings import Block
from aot.plan.steps import Ints

MOST_PAIRS = 500_000  # of blocks there at the same time whose distances are searched


def is_crowded(blocks: Sequence[Block]) -> bool:
    """True where too many pairs of blocks are there at the same time to look at each of them."""
    return are_many(*_lives(blocks))


def are_many(begins: Ints, ends: Ints) -> bool:
    """As `is_crowded`, of the first and last moments of blocks."""
    dead = np.searchsorted(np.sort(ends), begins, side="left")  # before each is born
    born = np.searchsorted(np.sort(begins), ends, side="right")  # before each is dead
    return int((born - dead - 1).sum()) // 2 > MOST_PAIRS


class CrowdPacking(AnyPacking):
    """Blocks to place in pools, kept apart by their first and last moments alone."""

    def __init__(self, blocks: Sequence[Block], pools: Sequence[Pool]) -> None:
        super().__init__(blocks, pools)
        self._sizes = np.asarray(self.sizes, np.int64)
        self._begins, self._ends = _lives(blocks)

    def place_all(self, sequence: Sequence[int]) -> Placement:
        partial, order = Partial(self), np.asarray(sequence, np.int64)
        offsets, where = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
        for number, block in enumerate(sequence):
            before = order[:number]
            met = before[
                (self._begins[before] <= self._ends[block]) & (self._begins[block] <= self._ends[before])
            ]
            pool, offset = self._spot(block, met, offsets, where)
            offsets[block], where[block] = offset, pool
            partial.put(block, pool, offset)
        return partial.placement(sequence)

    def _spot(self, block: int, met: Ints, offsets: Ints, where: Ints) -> tuple[int, int]:
        """Finds the first allowed pool with room; if none has room, the one that lacks least."""
        its = self.blocks[block]
        spots = []
        for number, pool in enumerate(self.pools):
            if its.pools and pool.name not in its.pools:
                continue
            there = met[where[met] == number]
            offset = self._lowest(block, offsets[there], self._sizes[there])
            lacking = max(offset + self.sizes[block] - self.rooms[number], 0)
            spots.append((lacking, number, offset))
            if not lacking:
                break
        _, number, offset = min(spots, default=(0, 0, 0))
        return number, offset

    def _lowest(self, block: int, offsets: Ints, sizes: Ints) -> int:
        """The lowest gap between blocks that are there meanwhile."""
        if not len(offsets):
            return 0
        align = self.blocks[block].align
        order = np.argsort(offsets, kind="stable")
        begins, ends = offsets[order], np.maximum.accumulate((offsets + sizes)[order])
        free = np.concatenate(([0], -(-ends // align) * align))  # where it could begin, behind each
        room = np.append(begins, np.iinfo(np.int64).max) - free
        return int(free[np.argmax(room >= self.sizes[block])])


def _lives(blocks: Sequence[Block]) -> tuple[Ints, Ints]:
    begins = np.asarray([int(block.first.min(initial=1 << 40)) for block in blocks], np.int64)
    ends = np.asarray([int(block.last.max(initial=-1)) for block in blocks], np.int64)
    return begins, ends
