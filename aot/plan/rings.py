"""Lifetimes of rows in an order, the rings that hold them, and the blocks to pack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aot.plan.model import ANY_POOL, Kind, PlanTensor, Stage
from aot.plan.steps import Ints, Steps

# Computes from an order the lifetime of every row, the ring lengths, and the live bytes over time.
#
# Time 0 is before the run, step n of the order is at time n + 1, and the last time is after the run.
# One numbering covers the rows of all tensors.


@dataclass(frozen=True, slots=True)
class Lives:
    """Lifetimes of rows: from `born` to `dies`, both included; never live if born > dies."""

    times: Ints  # by step number
    born: Ints
    dies: Ints
    after: int  # the time after the run


def live(steps: Steps, order: Sequence[int]) -> Lives:
    stages = np.asarray(order, np.int64)
    times = np.argsort(stages, kind="stable") + 1  # steps of a stage run in order, so this is by step number
    after, touches = len(stages) + 1, steps.touches
    born = np.full(steps.row_starts[-1], after, np.int64)
    dies = np.zeros(steps.row_starts[-1], np.int64)
    np.minimum.at(born, touches.row[touches.is_write], times[touches.first[touches.is_write]])
    np.maximum.at(dies, touches.row, times[touches.last])
    for tensor, first, stop in _spans(steps):
        if tensor.kind in (Kind.INPUT, Kind.STATE):
            born[first:stop] = 0
        if tensor.kind in (Kind.OUTPUT, Kind.STATE):
            dies[first:stop] = after
    return Lives(times, born, dies, after)


def _spans(steps: Steps) -> list[tuple[PlanTensor, int, int]]:
    starts = steps.row_starts
    return list(zip(steps.request.tensors, starts[:-1], starts[1:], strict=True))


def ring_lengths(steps: Steps, lives: Lives) -> Ints:
    """Returns the shortest ring of each tensor: a row may reuse the position of a dead row only."""
    rows = _rows(steps)
    base = np.repeat(np.arange(len(rows)), rows) * (lives.after + 1)  # separates the tensors
    dead_by = np.maximum.accumulate(lives.dies + base)
    oldest = np.searchsorted(dead_by, lives.born + base, side="left")
    starts = np.asarray(steps.row_starts[:-1])
    held = np.maximum.reduceat(np.arange(len(oldest)) - oldest, starts) + 1
    request = steps.request
    is_ring = np.asarray([request.rows and t.kind is Kind.INNER and not t.whole for t in request.tensors])
    backwards = np.diff(lives.born + base, prepend=0) < 0  # rows written by several stages
    is_ring &= ~np.logical_or.reduceat(backwards, starts)
    return np.where(is_ring, np.clip(held, 1, rows), rows)


def _rows(steps: Steps) -> Ints:
    return np.diff(np.asarray(steps.row_starts))


def bytes_over_time(steps: Steps, lives: Lives) -> Ints:
    """Returns the bytes of all live rows and states; a row written in place shares its bytes."""
    return _bytes(steps, lives, lives.dies)


def ring_bytes_over_time(steps: Steps, lives: Lives, rings: Ints, idle_steps: int) -> Ints:
    """Like bytes_over_time, but ring positions idle for at most `idle_steps` steps count as in use."""
    rows = _rows(steps)
    held = np.repeat(rings, rows)
    following = np.arange(len(held)) + held
    has_following = following < np.repeat(np.asarray(steps.row_starts[1:]), rows)
    refilled = lives.born[np.where(has_following, following, 0)]
    idles_briefly = has_following & (refilled - lives.dies <= idle_steps)
    return _bytes(steps, lives, np.where(idles_briefly, refilled - 1, lives.dies))


def _bytes(steps: Steps, lives: Lives, dies: Ints) -> Ints:
    each = np.repeat([tensor.row_bytes for tensor in steps.request.tensors], _rows(steps))
    each = np.where(lives.born <= lives.dies, each, 0)
    change = _sum_at(lives.born, each, lives) - _sum_at(dies + 1, each, lives)
    met = steps.meetings
    meets = np.flatnonzero(lives.dies[met.under] == lives.born[met.over])[::-1]
    first = np.zeros(len(each), np.int64)  # first overlap of each row: it overlaps at most one other row
    first[met.over[meets]] = meets
    meets = meets[first[met.over[meets]] == meets]
    once = _sum_at(lives.born[met.over[meets]], met.bytes[meets], lives)
    return (np.cumsum(change) + _state_bytes(steps, lives) - once)[:-1].astype(np.int64)


def _state_bytes(steps: Steps, lives: Lives) -> Ints:
    """Returns lifetimes: a state from its stage's first step to the last, scratch during each step."""
    found = np.zeros(lives.after + 2, np.int64)
    starts, counts = np.asarray(steps.starts[: len(steps.counts)]), np.asarray(steps.counts)
    runs = counts > 0
    states = np.asarray([stage.state_bytes for stage in steps.request.stages], np.int64)
    scratch = np.asarray([stage.scratch_bytes for stage in steps.request.stages], np.int64)
    np.add.at(found, lives.times[starts[runs]], states[runs])
    np.subtract.at(found, lives.times[starts[runs] + counts[runs] - 1] + 1, states[runs])
    found = np.cumsum(found)
    found[lives.times] += np.repeat(scratch, counts)
    return found


def _sum_at(times: Ints, sizes: Ints, lives: Lives) -> Ints:
    return np.bincount(times, weights=sizes, minlength=lives.after + 2).astype(np.int64)


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
