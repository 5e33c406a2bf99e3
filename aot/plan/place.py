"""Packs blocks: each into the lowest gap of the fastest pool that fits, searching over sequences."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from aot.plan.conflicts import Spans
from aot.plan.model import PlannedBuffer, Pool
from aot.plan.rings import Block
from aot.plan.steps import Ints

SEED = 1
_ENDLESS = 1 << 62  # bytes
_FEW_BLOCKS = 5  # their 120 sequences can all be tried
Cost = tuple[int, int, int]  # bytes missing, uses of slow pools, bytes used


@dataclass(frozen=True, slots=True)
class Placement:
    sequence: tuple[int, ...]  # in which the blocks were placed
    pools: tuple[int, ...]  # by block
    offsets: tuple[int, ...]
    ends: tuple[int, ...]  # by pool
    missing: int  # bytes by which the pools are too small
    slow_uses: int = 0  # bytes loaded and stored outside the fastest pool, weighted by the pool's slowness

    @property
    def cost(self) -> Cost:
        return self.missing, self.slow_uses, sum(self.ends)


@dataclass(frozen=True, slots=True)
class Move:
    """A step of the search: moves one block to another position of the sequence."""

    before: Placement
    sequence: tuple[int, ...]
    block: int
    first: int  # first position at which the sequences differ


class AnyPacking(ABC):
    """Blocks to place in pools."""

    def __init__(self, blocks: Sequence[Block], pools: Sequence[Pool]) -> None:
        self.blocks, self.pools = blocks, pools
        self.sizes = [block.bytes for block in blocks]
        self.rooms = [_ENDLESS if pool.bytes is None else pool.bytes for pool in pools]

    @abstractmethod
    def place_all(self, sequence: Sequence[int]) -> Placement:
        """Places every block, in this sequence, into the lowest gap that it may use."""


class BlockPacking(AnyPacking):
    """Blocks with the distances at which two of them would collide."""

    def __init__(
        self, blocks: Sequence[Block], forbidden: Sequence[dict[int, Spans]], pools: Sequence[Pool]
    ) -> None:
        super().__init__(blocks, pools)
        # [block] -> numbers of its allowed pools, fastest first
        self._allowed = [
            [n for n, pool in enumerate(pools) if not block.pools or pool.name in block.pools]
            for block in blocks
        ]
        # [block] -> (other block, forbidden values of `offset of block - offset of other`)
        self.neighbours = [[(b, forbidden[b][a]) for b in others] for a, others in enumerate(forbidden)]
        # the same, range by range
        self._wrong = [
            [(b, first, last) for b, spans in others for first, last in spans] for others in self.neighbours
        ]
        # [block] -> bit mask of the blocks that affect its offset, itself included
        self._near = [sum(1 << b for b, _ in others) | 1 << a for a, others in enumerate(self.neighbours)]

    def place_all(self, sequence: Sequence[int]) -> Placement:
        return self.place_above(sequence, [0] * len(self.blocks))

    def place_above(self, sequence: Sequence[int], least: Sequence[int]) -> Placement:
        """Places blocks as `place_all` does, none below its least offset."""
        partial = Partial(self)
        for block in sequence:
            partial.put(block, *self._spot(block, partial, least[block]))
        return partial.placement(sequence)

    def place_moved(self, move: Move) -> Placement | None:
        """Places blocks after the move, or returns None if that costs more; unaffected blocks stay."""
        before, sequence, pushed = move.before, move.sequence, 1 << move.block
        partial, near, put, most = Partial(self), self._near, 0, before.cost
        for number in range(move.first, len(sequence)):
            block = sequence[number]
            if not near[block] & pushed:
                continue
            if put < number:
                partial.put_as(before, sequence[put:number])
            put = number + 1
            found = self._spot(block, partial)
            partial.put(block, *found)
            if found != (before.pools[block], before.offsets[block]):
                pushed |= 1 << block
                if partial.cost > most:
                    return None
        partial.put_as(before, sequence[put:])
        return partial.placement(sequence) if partial.cost <= most else None

    def _spot(self, block: int, partial: Partial, least_offset: int = 0) -> tuple[int, int]:
        """Returns the pool and offset of the lowest gap in the first allowed pool that fits.

        If none fits, returns the one that lacks fewest bytes. A hot path: few calls inside.
        """
        offsets, where, wrong = partial.offsets, partial.where, self._wrong[block]
        align, size = self.blocks[block].align, self.sizes[block]
        best, least = (0, 0), -1
        for pool in self._allowed[block]:
            taken = [
                (offsets[other] + first, offsets[other] + last)
                for other, first, last in wrong
                if where[other] == pool
            ]
            taken.sort()
            offset = least_offset
            for first, last in taken:
                if first > offset:
                    break
                if last >= offset:
                    offset = -(-(last + 1) // align) * align
            overflow = offset + size - self.rooms[pool]
            if overflow <= 0:
                return pool, offset
            if least < 0 or overflow < least:
                best, least = (pool, offset), overflow
        return best


class Partial:
    """The blocks placed so far."""

    def __init__(self, packing: AnyPacking) -> None:
        self._blocks, self._sizes, self._rooms = packing.blocks, packing.sizes, packing.rooms
        self.offsets, self.where = [-1] * len(packing.sizes), [-1] * len(packing.sizes)
        self.ends, self.missing, self.slow_uses = [0] * len(packing.pools), 0, 0

    def put(self, block: int, pool: int, offset: int) -> None:
        self.offsets[block], self.where[block] = offset, pool
        end = offset + self._sizes[block]
        if end > self.ends[pool]:
            self.ends[pool] = end
            if end > self._rooms[pool]:
                self.missing = max(self.missing, end - self._rooms[pool])
        if pool:
            self.slow_uses += pool * self._blocks[block].uses

    def put_as(self, before: Placement, blocks: Sequence[int]) -> None:
        """Places blocks at their previous offsets. A hot path: no calls inside."""
        offsets, where, ends, sizes = self.offsets, self.where, self.ends, self._sizes
        for block in blocks:
            pool, offset = before.pools[block], before.offsets[block]
            offsets[block], where[block] = offset, pool
            if offset + sizes[block] > ends[pool]:
                self.put(block, pool, offset)
            elif pool:
                self.slow_uses += pool * self._blocks[block].uses

    @property
    def cost(self) -> Cost:
        return self.missing, self.slow_uses, sum(self.ends)

    def placement(self, sequence: Sequence[int]) -> Placement:
        its = tuple(self.where), tuple(self.offsets), tuple(self.ends)
        return Placement(tuple(sequence), *its, self.missing, self.slow_uses)


def place_in_sequences(packing: AnyPacking) -> Placement:
    """Places all blocks in several sequences and keeps the best placement."""
    keys = _KEYS if len(packing.pools) == 1 else (_by_use, *_KEYS)
    return min(
        (packing.place_all(_sequence(packing.blocks, key)) for key in keys), key=lambda each: each.cost
    )


def place_again(packing: AnyPacking, offsets: Mapping[str, int]) -> Placement:
    """Places blocks in the sequence of their earlier offsets; blocks without one come last."""
    return packing.place_all(_sequence(packing.blocks, lambda block: _earlier(block, offsets)))


def place_no_lower(packing: BlockPacking, offsets: Mapping[str, int]) -> Placement:
    """Places blocks in the sequence of their earlier offsets, each at its earlier offset or above.

    The lowest gap may separate two blocks that were nested in each other. This keeps such blocks nested.
    """
    least = [-(-offsets.get(block.name, 0) // block.align) * block.align for block in packing.blocks]
    return packing.place_above(_sequence(packing.blocks, lambda block: _earlier(block, offsets)), least)


def place_around(packing: BlockPacking, buffers: Mapping[str, PlannedBuffer]) -> Placement:
    """Places blocks that are as large as their earlier buffers at these, and then the others around them."""
    offsets = {block.name: _same_offset(block, buffers) for block in packing.blocks}
    kept = {name: offset for name, offset in offsets.items() if offset is not None}
    return packing.place_above(
        _sequence(packing.blocks, lambda block: _earlier(block, kept)),
        [-(-kept.get(block.name, 0) // block.align) * block.align for block in packing.blocks],
    )


def _same_offset(block: Block, buffers: Mapping[str, PlannedBuffer]) -> int | None:
    """Returns the offset of the block's earlier buffer, or None if no such buffer has its size."""
    buffer = buffers.get(block.name)
    sizes = block.positions, block.position_bytes
    return buffer.offset if buffer and (buffer.rows_held, buffer.row_bytes) == sizes else None


def improve(packing: BlockPacking, best: Placement, bound: int, trials: int) -> Placement:
    """Tries other sequences, each one move from the last improvement; stops at `bound`.

    A move gives one block another, mostly earlier, position. Every other move picks the block that ends
    highest. If there are few blocks, tries all sequences.
    """
    count, draws = len(best.sequence), Draws(SEED)
    if count <= _FEW_BLOCKS:
        return _best_of_all(packing, best, bound)
    start, in_vain = _Start.of(best, packing, bound), set[tuple[int, int]]()
    for _ in range(trials):
        if start.is_enough:
            break
        taken = start.highest if draws.real() < 0.5 else draws.below(count)
        position = draws.below(taken + 1 if draws.real() < 0.7 else count)
        if (taken, position) in in_vain:  # already tried from this placement
            continue
        found = _follow(packing, bound, start, taken, position)
        if found is start:
            in_vain.add((taken, position))
        else:
            start, in_vain = found, set()
    return start.placement


def _best_of_all(packing: BlockPacking, best: Placement, bound: int) -> Placement:
    for sequence in permutations(range(len(best.sequence))):
        if best.cost <= (0, 0, bound):
            break
        placement = packing.place_all(sequence)
        if placement.cost < best.cost:
            best = placement
    return best


class Draws:
    """Pseudo-random numbers, the same on every machine. A hot path: few calls inside."""

    def __init__(self, seed: int) -> None:
        its = random.Random(seed)
        self.real, self._bits = its.random, its.getrandbits

    def below(self, limit: int) -> int:
        """Returns a number from 0 to limit - 1."""
        width = limit.bit_length()
        drawn = self._bits(width)
        while drawn >= limit:
            drawn = self._bits(width)
        return drawn


@dataclass(frozen=True, slots=True)
class _Start:
    """A placement to start moves from."""

    placement: Placement
    highest: int  # position in its sequence of the block that ends highest
    is_enough: bool

    @staticmethod
    def of(placement: Placement, packing: BlockPacking, bound: int) -> _Start:
        ends = [placement.offsets[block] + packing.sizes[block] for block in placement.sequence]
        highest = ends.index(max(ends)) if ends else 0
        return _Start(placement, highest, placement.cost <= (0, 0, bound))


def _follow(packing: BlockPacking, bound: int, start: _Start, taken: int, position: int) -> _Start:
    if taken == position:
        return start
    found = packing.place_moved(_move(start.placement, taken, position))
    return start if found is None else _Start.of(found, packing, bound)


def _move(before: Placement, taken: int, position: int) -> Move:
    sequence = list(before.sequence)
    block = sequence.pop(taken)
    sequence.insert(position, block)
    return Move(before, tuple(sequence), block, min(taken, position))


def _sequence(blocks: Sequence[Block], key: Callable[[Block], tuple[int, ...]]) -> list[int]:
    return sorted(range(len(blocks)), key=lambda n: (key(blocks[n]), n))


def _earlier(block: Block, offsets: Mapping[str, int]) -> tuple[int, ...]:
    return offsets.get(block.name, 1 << 40), -block.bytes


def _begin(block: Block) -> int:
    return int(np.min(block.first, initial=1 << 40))


def _end(block: Block) -> int:
    return int(np.max(block.last, initial=0))


def _by_use(block: Block) -> tuple[int, ...]:
    """Sort key: blocks with most uses per byte come first, while the fastest pool has free space."""
    return -block.uses // max(block.bytes, 1), -block.bytes


_KEYS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.bytes,),
    lambda block: (-block.bytes * max(_end(block) - _begin(block) + 1, 0),),
    lambda block: (_begin(block) - _end(block), -block.bytes),
    lambda block: (_begin(block), -block.bytes),
    lambda block: (-_end(block), -block.bytes),
)


# Packs very many simultaneously live blocks greedily; whole blocks, not rows, keep apart.
#
# Storing pairs of blocks would need millions of entries. So a block may share bytes with another only if one
# dies before the other is born: coarser than the lifetimes of positions, never wrong.

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
