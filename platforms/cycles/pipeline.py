"""Drives a trace through a core's pipeline: in order, several instructions in a cycle, units that are held.

What an instruction waits for counts to it. Nothing of a pipeline reaches far, so that the same block
entered in the same state takes the same cycles: each pair of the two is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boards.core_pipeline import ALONE, FIRST, LIGHT, CorePipeline, PipelineRow
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.parts import PARTS, part_of
from platforms.cycles.trace import Numbers

Block = Sequence[MachineInstruction]
_EARLIEST = 1  # cycles before the usual one that some operands are read
_MEMORY = ("load", "store")  # how the kinds of instructions begin that move words


@dataclass(frozen=True, slots=True)
class _State:
    """The pipeline in the cycle of the last instruction; all times are counted from it."""

    taken: int  # slots of that cycle; as many as there are: nothing more begins in it
    has_light: bool
    ready: tuple[tuple[str, int], ...]  # registers whose values are not there yet, or only just
    free: tuple[tuple[str, tuple[int, ...]], ...]  # when each unit that is held is free again

    def later(self, cycles: int) -> _State:
        """The state so many cycles later, in which nothing has begun."""
        if not cycles:
            return self
        return _state(0, False, dict(self.ready), {name: list(times) for name, times in self.free}, cycles)


def _state(
    taken: int, has_light: bool, ready: dict[str, int], free: dict[str, list[int]], now: int
) -> _State:
    waiting = sorted((register, at - now) for register, at in ready.items() if at > now - _EARLIEST)
    held = sorted(
        (name, tuple(sorted(max(at - now, 0) for at in times)))
        for name, times in free.items()
        if max(times) > now
    )
    return _State(taken, has_light, tuple(waiting), tuple(held))


IDLE = _State(0, False, (), ())


def row_of(one: MachineInstruction, pipeline: CorePipeline) -> PipelineRow:
    """The first row that fits the instruction. A row for any name is the last of each file."""
    return next(
        row
        for row in pipeline.rows
        if row.bytes in (0, one.bytes) and any(one.name.startswith(name) for name in row.names)
    )


def through(block: Block, state: _State, pipeline: CorePipeline) -> tuple[tuple[int, ...], _State]:
    """The cycles of each instruction of a block that is entered in that state, and the state behind it."""
    machine = _Machine(state, pipeline)
    costs = tuple(machine.begin(one) for one in block)
    return costs, machine.state()


def cycles_by_part(
    order: Numbers, blocks: Sequence[Block], refills: Numbers, pipeline: CorePipeline
) -> Numbers:
    """The cycles of each executed block by part; `refills` are the cycles lost behind each."""
    walk = _Walk(blocks, pipeline)
    rows = np.array([walk.row(*each) for each in zip(order.tolist(), refills.tolist(), strict=True)])
    costs: Numbers = np.array(walk.costs, np.int64)[rows]
    return costs


class _Walk:
    """Goes from block to block; states and what a block costs in each are numbered as they are met."""

    def __init__(self, blocks: Sequence[Block], pipeline: CorePipeline) -> None:
        self._blocks, self._pipeline = blocks, pipeline
        self._states, self._number_of = [IDLE], {IDLE: 0}
        self._at = 0
        self._known: dict[tuple[int, int, int], tuple[int, int]] = {}  # state, block, refill: row, state
        self.costs: list[list[int]] = []

    def row(self, block: int, refill: int) -> int:
        key = (self._at, block, refill)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._compute(*key)
        row, self._at = known
        return row

    def _compute(self, state: int, block: int, refill: int) -> tuple[int, int]:
        code = self._blocks[block]
        cycles, after = through(code, self._states[state], self._pipeline)
        sums = dict.fromkeys(PARTS, 0)
        for one, each in zip(code, cycles, strict=True):
            sums[part_of(one)] += each
        self.costs.append(list(sums.values()))
        return len(self.costs) - 1, self._number(after.later(refill))

    def _number(self, state: _State) -> int:
        number = self._number_of.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number


class _Machine:
    """The pipeline while it goes through a block."""

    def __init__(self, state: _State, pipeline: CorePipeline) -> None:
        self._pipeline = pipeline
        self._now = 0
        self._taken, self._has_light = state.taken, state.has_light
        self._ready = dict(state.ready)
        self._free = {name: [0] * count for name, count in pipeline.units.items()}
        self._free.update({name: list(times) for name, times in state.free})

    def state(self) -> _State:
        return _state(self._taken, self._has_light, self._ready, self._free, self._now)

    def begin(self, one: MachineInstruction) -> int:
        """Begins an instruction as soon as it can; returns the cycles since the one before it."""
        row, before = row_of(one, self._pipeline), self._now
        if not row.slots:
            return 0
        busy = self._cycles_of_words(one)
        start = max(before, self._operands(one, row))
        if start == before and not self._joins(row):
            start += 1
        units = self._units(row, start)
        while units is None:
            start += 1
            units = self._units(row, start)
        self._take(one, row, start, units, busy)
        return self._now - before

    def _cycles_of_words(self, one: MachineInstruction) -> int:
        if not one.kind.endswith(("_many", "_pair")):
            return 1
        words = 2 if one.kind.endswith("_pair") else one.registers
        return -(-words // self._pipeline.words_a_cycle)

    def _joins(self, row: PipelineRow) -> bool:
        """True where it may begin in the cycle of the one before it."""
        if not self._taken:
            return True
        if self._taken >= self._pipeline.slots or row.pairs in (ALONE, FIRST):
            return False
        return not self._pipeline.needs_light or self._has_light or row.pairs == LIGHT

    def _operands(self, one: MachineInstruction, row: PipelineRow) -> int:
        """The first cycle in which all that it reads is there."""
        return max((self._needs(register, one, row) for register in one.reads), default=0)

    def _needs(self, register: str, one: MachineInstruction, row: PipelineRow) -> int:
        at = self._ready.get(register)
        if at is None:
            return 0
        if register in one.address_of:
            return at + self._pipeline.early_address
        is_late = one.kind.startswith("store") or register in one.writes
        return at + row.early - (row.late if is_late else 0)

    def _units(self, row: PipelineRow, start: int) -> list[tuple[str, int]] | None:
        """One unit of each kind that is free in that cycle; None where one is not."""
        found = []
        for choice in row.units:
            unit = next(
                (
                    (name, number)
                    for name in choice.split("|")
                    for number, at in enumerate(self._free[name])
                    if at <= start and (name, number) not in found
                ),
                None,
            )
            if unit is None:
                return None
            found.append(unit)
        return found

    def _take(
        self, one: MachineInstruction, row: PipelineRow, start: int, units: list[tuple[str, int]], busy: int
    ) -> None:
        is_closed = row.pairs == ALONE or busy > 1
        taken = self._taken if start == self._now else 0
        self._has_light = row.pairs == LIGHT or (taken > 0 and self._has_light)
        self._taken = self._pipeline.slots if is_closed else taken + row.slots
        self._now = start + busy - 1
        for name, number in units:
            self._free[name][number] = start + max(row.holds, busy)
        for register in one.writes:
            moved = register in one.address_of and one.kind.startswith(_MEMORY)
            self._ready[register] = (
                start + busy - 1 + (self._pipeline.moved_latency if moved else row.latency)
            )
