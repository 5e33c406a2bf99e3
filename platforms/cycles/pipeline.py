"""Simulates a trace in a core's in-order pipeline with multiple issue and occupied execution units.

Stalls count for the stalled instruction. Effects are short-lived, so a block that is entered in the same
state always costs the same. Each pair of block and state is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boards.cores import ALONE, FIRST, LIGHT, CorePipeline, PipelineRow
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.parts import PARTS, part_of
from platforms.cycles.trace import Numbers

Block = Sequence[MachineInstruction]
_EARLIEST = 1  # how early some operands may be read, in cycles
_MEMORY = ("load", "store")  # kind prefixes of instructions that access memory


@dataclass(frozen=True, slots=True)
class _State:
    """The pipeline state after an instruction; times are relative to its cycle."""

    taken: int  # issue slots of that cycle in use; if all are, nothing more issues in it
    has_light: bool
    ready: tuple[tuple[str, int], ...]  # cycle in which each pending register becomes available
    free: tuple[tuple[str, tuple[int, ...]], ...]  # when each occupied unit becomes free

    def later(self, cycles: int) -> _State:
        """Returns the state after `cycles` idle cycles."""
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
    """Returns the first matching row. The last row of each file matches every instruction."""
    return next(
        row
        for row in pipeline.rows
        if row.bytes in (0, one.bytes) and any(one.name.startswith(name) for name in row.names)
    )


def through(block: Block, state: _State, pipeline: CorePipeline) -> tuple[tuple[int, ...], _State]:
    """Returns the cycles of each instruction of a block entered in `state`, and the state after it."""
    machine = _Machine(state, pipeline)
    costs = tuple(machine.begin(one) for one in block)
    return costs, machine.state()


def cycles_by_part(
    order: Numbers, blocks: Sequence[Block], refills: Numbers, pipeline: CorePipeline
) -> Numbers:
    """Returns the cycles of each executed block by category; `refills` are the cycles lost after each."""
    walk = _Walk(blocks, pipeline)
    rows = np.array([walk.row(*each) for each in zip(order.tolist(), refills.tolist(), strict=True)])
    costs: Numbers = np.array(walk.costs, np.int64)[rows]
    return costs


class _Walk:
    """Walks over executed blocks, numbering pipeline states and block costs in order of discovery."""

    def __init__(self, blocks: Sequence[Block], pipeline: CorePipeline) -> None:
        self._blocks, self._pipeline = blocks, pipeline
        self._states, self._number_of = [IDLE], {IDLE: 0}
        self._at = 0
        self._known: dict[tuple[int, int, int], tuple[int, int]] = {}  # state, block, refill -> row, state
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
    """Simulates the pipeline within a block."""

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
        """Issues an instruction as early as possible and returns the cycles since the previous one."""
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
        """Returns whether it may issue in the same cycle as the previous instruction."""
        if not self._taken:
            return True
        if self._taken >= self._pipeline.slots or row.pairs in (ALONE, FIRST):
            return False
        return not self._pipeline.needs_light or self._has_light or row.pairs == LIGHT

    def _operands(self, one: MachineInstruction, row: PipelineRow) -> int:
        """Returns the first cycle in which all operands are available."""
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
        """Returns one free unit of each required kind, or None if one is occupied in cycle `start`."""
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
