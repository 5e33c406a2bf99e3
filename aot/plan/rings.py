"""Blocks to be placed: every ring and state with the lives of its slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from aot.plan.firings import Firings, Ints
from aot.plan.lives import Lives
from aot.plan.model import STATE_ALIGN, PlanRequest


@dataclass(frozen=True, slots=True)
class Block:
    """What moves as one: equal slots one after the other, and the spans of time in which each is in use."""

    name: str
    slots: int
    slot_bytes: int
    align: int
    slot: Ints  # of each span
    first: Ints  # time, included
    last: Ints  # time, included
    uses: int = 0  # bytes of it that kernels load and store in a run, about

    @property
    def bytes(self) -> int:
        return self.slots * self.slot_bytes


@dataclass(frozen=True, slots=True)
class Excuse:
    """At one moment slot `over` of one block may begin exactly where slot `under` of another does."""

    under_block: int
    under: int
    over_block: int
    over: int


def make_blocks(firings: Firings, lives: Lives, rings: Ints) -> tuple[Block, ...]:
    """First the tensors in their order, then the states of the stages."""
    uses = _uses(firings.request)
    tensors = (_ring(firings, lives, n, held, uses) for n, held in enumerate(rings.tolist()))
    return (*tensors, *_states(firings, lives))


def _uses(request: PlanRequest) -> Mapping[str, int]:
    """Of each tensor: its rows as often as they are read or written, or the work of whoever reads it."""
    found = {tensor.name: 0 for tensor in request.tensors}
    row_bytes = {tensor.name: tensor.row_bytes for tensor in request.tensors}
    for stage in request.stages:
        for n, name in enumerate(stage.reads):
            rows = sum(len(firing.reads[n]) for firing in stage.firings)
            found[name] += max(rows * row_bytes[name], stage.work)
        for n, name in enumerate(stage.writes):
            found[name] += sum(len(firing.writes[n]) for firing in stage.firings) * row_bytes[name]
    return found


def _ring(firings: Firings, lives: Lives, number: int, held: int, uses: Mapping[str, int]) -> Block:
    tensor = firings.request.tensors[number]
    used = uses[tensor.name]
    rows = slice(firings.row_starts[number], firings.row_starts[number + 1])
    born, dies = lives.born[rows], lives.dies[rows]
    there = np.flatnonzero(born <= dies)
    if tensor.steady:
        places = np.arange(min(held, len(born)))
        first = np.array([born[place::held].min() for place in places])
        last = np.array([dies[place::held].max() for place in places])
        return Block(tensor.name, held, tensor.row_bytes, tensor.align, places, first, last, used)
    slots = there % held
    return Block(tensor.name, held, tensor.row_bytes, tensor.align, slots, born[there], dies[there], used)


def _states(firings: Firings, lives: Lives) -> Iterator[Block]:
    for stage, start in zip(firings.request.stages, firings.starts, strict=False):
        times = lives.times[start : start + len(stage.firings)]
        if stage.state_bytes and len(times):
            yield _single(f"{stage.name}.state", stage.state_bytes, times[:1], times[-1:], stage.work)


def _single(name: str, size: int, first: Ints, last: Ints, work: int) -> Block:
    uses = max(work, size * len(first))
    return Block(name, 1, size, STATE_ALIGN, np.zeros_like(first), first, last, uses)


def find_excuses(firings: Firings, lives: Lives, rings: Ints) -> tuple[Excuse, ...]:
    """Rows that die in the very firing which writes a row allowed to lie on them."""
    met = firings.meetings
    meets = lives.dies[met.under] == lives.born[met.over]
    return tuple(
        Excuse(*_slot(firings, rings, under), *_slot(firings, rings, over))
        for under, over in zip(met.under[meets].tolist(), met.over[meets].tolist(), strict=True)
    )


def _slot(firings: Firings, rings: Ints, row: int) -> tuple[int, int]:
    block = int(np.searchsorted(firings.row_starts, row, side="right")) - 1
    return block, int((row - firings.row_starts[block]) % rings[block])
