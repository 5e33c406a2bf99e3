"""Offsets: blocks go one by one into the lowest gap of the fastest pool with room; sequences are searched."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aot.plan.conflicts import Spans
from aot.plan.model import Pool
from aot.plan.rings import Block

SEED = 1
Cost = tuple[int, int, int]  # bytes missing, uses of slow pools, bytes taken


@dataclass(frozen=True, slots=True)
class Placement:
    sequence: tuple[int, ...]  # in which the blocks were put down
    pools: tuple[int, ...]  # of each block
    offsets: tuple[int, ...]
    ends: tuple[int, ...]  # of each pool
    missing: int  # bytes by which the pools are too small
    slow_uses: int = 0  # bytes loaded and stored outside the fastest pool, each as often as its pool is slow

    @property
    def cost(self) -> Cost:
        return self.missing, self.slow_uses, sum(self.ends)


class Board:
    """Where blocks are put down one after the other."""

    def __init__(
        self, blocks: Sequence[Block], forbidden: Sequence[dict[int, Spans]], pools: Sequence[Pool]
    ) -> None:
        self.blocks, self.pools = blocks, pools
        self.sizes = [block.bytes for block in blocks]
        # [block] -> (other block, wrong values of `offset of block - offset of other`)
        self.neighbours = [[(b, forbidden[b][a]) for b in others] for a, others in enumerate(forbidden)]

    def fill(self, sequence: Sequence[int], limit: Cost | None = None) -> Placement | None:
        """None as soon as it costs more than `limit`."""
        offsets, where = [-1] * len(self.sizes), [-1] * len(self.sizes)
        ends, missing, slow_uses = [0] * len(self.pools), 0, 0
        for block in sequence:
            pool, offset, over = self._spot(block, offsets, where)
            offsets[block], where[block] = offset, pool
            ends[pool] = max(ends[pool], offset + self.sizes[block])
            missing = max(missing, over)
            slow_uses += pool * self.blocks[block].uses
            if limit is not None and (missing, slow_uses, sum(ends)) > limit:
                return None
        return Placement(tuple(sequence), tuple(where), tuple(offsets), tuple(ends), missing, slow_uses)

    def _spot(self, block: int, offsets: list[int], where: list[int]) -> tuple[int, int, int]:
        """The first pool with room; where none has, the one that lacks least."""
        best = (0, 0, -1)
        for number, pool in enumerate(self.pools):
            offset = self._lowest(block, number, offsets, where)
            over = 0 if pool.bytes is None else max(offset + self.sizes[block] - pool.bytes, 0)
            if over == 0:
                return number, offset, 0
            if best[2] < 0 or over < best[2]:
                best = (number, offset, over)
        return best

    def _lowest(self, block: int, pool: int, offsets: list[int], where: list[int]) -> int:
        align = self.blocks[block].align
        taken = [
            (offsets[other] + first, offsets[other] + last)
            for other, spans in self.neighbours[block]
            if where[other] == pool
            for first, last in spans
        ]
        taken.sort()
        offset = 0
        for first, last in taken:
            if first > offset:
                break
            if last >= offset:
                offset = -(-(last + 1) // align) * align
        return offset


def place_in_sequences(board: Board) -> Placement:
    """The best of several sequences."""
    keys = _KEYS if len(board.pools) == 1 else (_by_use, *_KEYS)
    found = [board.fill(_sequence(board.blocks, key)) for key in keys]
    return min((each for each in found if each is not None), key=lambda each: each.cost)


def improve(board: Board, best: Placement, bound: int, trials: int) -> Placement:
    """Tries other sequences, each a step from the last good one; stops at `bound`."""
    chance = random.Random(SEED)
    for _ in range(trials if len(best.sequence) > 1 else 0):
        if best.cost <= (0, 0, bound):
            break
        best = board.fill(_step(board, best, chance), best.cost) or best
    return best


def _step(board: Board, best: Placement, chance: random.Random) -> list[int]:
    """One block changes its turn: every other time the one that ends highest, mostly to an earlier one."""
    sequence = list(best.sequence)
    if chance.random() < 0.5:
        taken = max(range(len(sequence)), key=lambda n: best.offsets[sequence[n]] + board.sizes[sequence[n]])
    else:
        taken = chance.randrange(len(sequence))
    block = sequence.pop(taken)
    turns = taken + 1 if chance.random() < 0.7 else len(sequence) + 1
    sequence.insert(chance.randrange(turns), block)
    return sequence


def _sequence(blocks: Sequence[Block], key: Callable[[Block], tuple[int, ...]]) -> list[int]:
    return sorted(range(len(blocks)), key=lambda n: (key(blocks[n]), n))


def _begin(block: Block) -> int:
    return int(np.min(block.first, initial=1 << 40))


def _end(block: Block) -> int:
    return int(np.max(block.last, initial=0))


def _by_use(block: Block) -> tuple[int, ...]:
    """What is used most for its size is put down first: the fastest pool still has room."""
    return -block.uses // max(block.bytes, 1), -block.bytes


_KEYS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.bytes,),
    lambda block: (-block.bytes * max(_end(block) - _begin(block) + 1, 0),),
    lambda block: (_begin(block) - _end(block), -block.bytes),
    lambda block: (_begin(block), -block.bytes),
    lambda block: (-_end(block), -block.bytes),
)
