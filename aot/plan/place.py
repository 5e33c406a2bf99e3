"""Offsets: blocks go one by one into the lowest gap of the fastest pool with room; sequences are searched."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Step:
    """From a placement to the sequence to be tried next: one block has another turn."""

    before: Placement
    sequence: tuple[int, ...]
    block: int
    first: int  # the turn from which on the sequences differ


class Board:
    """Where blocks are put down one after the other."""

    def __init__(
        self, blocks: Sequence[Block], forbidden: Sequence[dict[int, Spans]], pools: Sequence[Pool]
    ) -> None:
        self.blocks, self.pools = blocks, pools
        self.sizes = [block.bytes for block in blocks]
        # [block] -> numbers of the pools it may lie in, the fastest first
        self._allowed = [
            [n for n, pool in enumerate(pools) if not block.pools or pool.name in block.pools]
            for block in blocks
        ]
        # [block] -> (other block, wrong values of `offset of block - offset of other`)
        self.neighbours = [[(b, forbidden[b][a]) for b in others] for a, others in enumerate(forbidden)]
        self._wrong = [[(b, *span) for b, spans in others for span in spans] for others in self.neighbours]
        # [block] -> bits of the blocks on whose turns and places its own depends, itself among them
        self._near = [sum(1 << b for b, _ in others) | 1 << a for a, others in enumerate(self.neighbours)]

    def fill(self, sequence: Sequence[int]) -> Placement:
        filling = _Filling(self)
        for block in sequence:
            filling.put(block, *self._spot(block, filling))
        return filling.placement(sequence)

    def refill(self, step: Step) -> Placement | None:
        """What `fill` answers, or None where that costs more than before. What is not pushed stays."""
        before, filling, pushed = step.before, _Filling(self), 1 << step.block
        for turn, block in enumerate(step.sequence):
            spot = before.pools[block], before.offsets[block]
            if turn < step.first or not self._near[block] & pushed:
                filling.put(block, *spot)
                continue
            found = self._spot(block, filling)
            filling.put(block, *found)
            if found != spot:
                pushed |= 1 << block
                if filling.cost > before.cost:
                    return None
        return filling.placement(step.sequence) if filling.cost <= before.cost else None

    def over(self, block: int, pool: int, offset: int) -> int:
        """Bytes of the block that the pool has no room for."""
        size = self.pools[pool].bytes
        return 0 if size is None else max(offset + self.sizes[block] - size, 0)

    def _spot(self, block: int, filling: _Filling) -> tuple[int, int]:
        """The first pool allowed that has room; where none has, the one that lacks least."""
        best, least = (0, 0), -1
        for pool in self._allowed[block]:
            offset = self._lowest(block, pool, filling.offsets, filling.where)
            over = self.over(block, pool, offset)
            if over == 0:
                return pool, offset
            if least < 0 or over < least:
                best, least = (pool, offset), over
        return best

    def _lowest(self, block: int, pool: int, offsets: list[int], where: list[int]) -> int:
        align = self.blocks[block].align
        taken = [
            (offsets[other] + first, offsets[other] + last)
            for other, first, last in self._wrong[block]
            if where[other] == pool
        ]
        taken.sort()
        offset = 0
        for first, last in taken:
            if first > offset:
                break
            if last >= offset:
                offset = -(-(last + 1) // align) * align
        return offset


class _Filling:
    """Blocks being put down."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.offsets, self.where = [-1] * len(board.sizes), [-1] * len(board.sizes)
        self.ends, self.missing, self.slow_uses = [0] * len(board.pools), 0, 0

    def put(self, block: int, pool: int, offset: int) -> None:
        self.offsets[block], self.where[block] = offset, pool
        end = offset + self.board.sizes[block]
        if end > self.ends[pool]:
            self.ends[pool] = end
            self.missing = max(self.missing, self.board.over(block, pool, offset))
        self.slow_uses += pool * self.board.blocks[block].uses

    @property
    def cost(self) -> Cost:
        return self.missing, self.slow_uses, sum(self.ends)

    def placement(self, sequence: Sequence[int]) -> Placement:
        its = tuple(self.where), tuple(self.offsets), tuple(self.ends)
        return Placement(tuple(sequence), *its, self.missing, self.slow_uses)


def place_in_sequences(board: Board) -> Placement:
    """The best of several sequences."""
    keys = _KEYS if len(board.pools) == 1 else (_by_use, *_KEYS)
    return min((board.fill(_sequence(board.blocks, key)) for key in keys), key=lambda each: each.cost)


def place_again(board: Board, offsets: Mapping[str, int]) -> Placement:
    """About where these blocks were; those that were not there come last."""
    return board.fill(_sequence(board.blocks, lambda block: (offsets.get(block.name, 1 << 40), -block.bytes)))


def improve(board: Board, best: Placement, bound: int, trials: int) -> Placement:
    """Tries other sequences, each a step from the last good one; stops at `bound`."""
    chance = random.Random(SEED)
    for _ in range(trials if len(best.sequence) > 1 else 0):
        if best.cost <= (0, 0, bound):
            break
        best = board.refill(_step(board, best, chance)) or best
    return best


def _step(board: Board, best: Placement, chance: random.Random) -> Step:
    """One block changes its turn: every other time the one that ends highest, mostly to an earlier one."""
    sequence = list(best.sequence)
    if chance.random() < 0.5:
        taken = max(range(len(sequence)), key=lambda n: best.offsets[sequence[n]] + board.sizes[sequence[n]])
    else:
        taken = chance.randrange(len(sequence))
    block = sequence.pop(taken)
    turns = taken + 1 if chance.random() < 0.7 else len(sequence) + 1
    turn = chance.randrange(turns)
    sequence.insert(turn, block)
    return Step(best, tuple(sequence), block, min(taken, turn))


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
