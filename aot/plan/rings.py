"""Builds the blocks to pack: rings, states and scratch, with the lifetimes of their positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aot.plan.lives import Lives
from aot.plan.model import ANY_POOL, Stage
from aot.plan.steps import Ints, Steps


@dataclass(frozen=True, slots=True)
class Block:
    """A unit of packing: consecutive equal positions, and the time spans in which each is in use."""

    name: str
    positions: int
    position_bytes: int
    align: int
    position: Ints  # by span
    first: Ints  # time, inclusive
    last: Ints  # time, inclusive
    uses: int = 0  # bytes that kernels load and store in a run, approximately
    pools: frozenset[str] = ANY_POOL  # names of the pools it may use

    @property
    def bytes(self) -> int:
        return self.positions * self.position_bytes


@dataclass(frozen=True, slots=True)
class AllowedOverlaps:
    """Times at which position `over` of one block may start exactly at position `under` of another."""

    under_block: Ints
    under: Ints
    over_block: Ints
    over: Ints


def make_blocks(steps: Steps, lives: Lives, rings: Ints) -> tuple[Block, ...]:
    """Returns the blocks: the tensors in order, then state and scratch of the stages."""
    tensors = (_ring(steps, lives, n, held) for n, held in enumerate(rings.tolist()))
    return (*tensors, *_states(steps, lives))


def _ring(steps: Steps, lives: Lives, number: int, held: int) -> Block:
    tensor, used = steps.request.tensors[number], steps.bytes_used[number]
    rows = slice(steps.row_starts[number], steps.row_starts[number + 1])
    born, dies = lives.born[rows], lives.dies[rows]
    there = np.flatnonzero(born <= dies)
    if tensor.keeps_padding:
        places = np.arange(min(held, len(born)))
        first = np.array([born[place::held].min() for place in places])
        last = np.array([dies[place::held].max() for place in places])
        return Block(
            tensor.name, held, tensor.row_bytes, tensor.align, places, first, last, used, tensor.pools
        )
    positions, first, last = there % held, born[there], dies[there]
    return Block(
        tensor.name, held, tensor.row_bytes, tensor.align, positions, first, last, used, tensor.pools
    )


def _states(steps: Steps, lives: Lives) -> Iterator[Block]:
    for stage, start in zip(steps.request.stages, steps.starts, strict=False):
        times = lives.times[start : start + len(stage.steps)]
        if stage.state_bytes and len(times):
            yield _single("state", stage, stage.state_bytes, times[:1], times[-1:])
        if stage.scratch_bytes and len(times):
            yield _single("scratch", stage, stage.scratch_bytes, times, times)


def _single(kind: str, stage: Stage, size: int, first: Ints, last: Ints) -> Block:
    uses, position = max(stage.work, size * len(first)), np.zeros_like(first)
    return Block(f"{stage.name}.{kind}", 1, size, stage.align, position, first, last, uses, stage.pools)


def find_in_place_overlaps(steps: Steps, lives: Lives, rings: Ints) -> AllowedOverlaps:
    """Finds rows that die in the same step in which another row may overwrite them."""
    met = steps.meetings
    meets = lives.dies[met.under] == lives.born[met.over]
    return AllowedOverlaps(
        *_positions(steps, rings, met.under[meets]), *_positions(steps, rings, met.over[meets])
    )


def _positions(steps: Steps, rings: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Returns the block of each row, and its position in that block."""
    starts = np.asarray(steps.row_starts)
    blocks = np.searchsorted(starts, rows, side="right") - 1
    return blocks, (rows - starts[blocks]) % rings[blocks]
