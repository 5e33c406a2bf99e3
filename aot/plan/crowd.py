"""Packs very many simultaneously live blocks greedily; whole blocks, not rows, keep apart.

Storing pairs of blocks would need millions of entries. So a block may share bytes with another only if one
dies before the other is born: coarser than the lifetimes of positions, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.plan.model import Pool
from aot.plan.place import AnyPacking, Partial, Placement
from aot.plan.rings import Block
from aot.plan.steps import Ints

MOST_PAIRS = 500_000  # largest number of pairs of simultaneously live blocks whose distances are searched


def is_crowded(blocks: Sequence[Block]) -> bool:
    """Returns whether too many pairs of blocks are live at the same time to look at each pair."""
    return are_many(*_lives(blocks))


def are_many(begins: Ints, ends: Ints) -> bool:
    """Like `is_crowded`, given the first and last times of the blocks."""
    dead = np.searchsorted(np.sort(ends), begins, side="left")  # before each block is born
    born = np.searchsorted(np.sort(begins), ends, side="right")  # before each block is dead
    return int((born - dead - 1).sum()) // 2 > MOST_PAIRS


class CrowdPacking(AnyPacking):
    """Blocks to place in pools, kept apart by their first and last times only."""

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
        """Finds the first allowed pool that fits; if none fits, the one that lacks fewest bytes."""
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
        """Returns the lowest gap between blocks that are live at the same time."""
        if not len(offsets):
            return 0
        align = self.blocks[block].align
        order = np.argsort(offsets, kind="stable")
        begins, ends = offsets[order], np.maximum.accumulate((offsets + sizes)[order])
        free = np.concatenate(([0], -(-ends // align) * align))  # 0 and the aligned end of each block
        room = np.append(begins, np.iinfo(np.int64).max) - free
        return int(free[np.argmax(room >= self.sizes[block])])


def _lives(blocks: Sequence[Block]) -> tuple[Ints, Ints]:
    begins = np.asarray([int(block.first.min(initial=1 << 40)) for block in blocks], np.int64)
    ends = np.asarray([int(block.last.max(initial=-1)) for block in blocks], np.int64)
    return begins, ends
