"""Puts lines of assembly into the order in which a pipeline takes them with the least waiting.

Cycle by cycle, what can begin does, and of several the one that comes first in the written order among those
of the lowest rank. Registers are kept, so a line stays behind those whose results it reads and those that
read or write what it writes. Labels and jumps stay where they are, and lines between them; what is under a
predicate stays together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.isa.asm_line import AsmLine

_WINDOW = 64  # groups that are looked at: no register lets more of them begin out of turn


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the pipeline that an instruction takes."""

    name: str
    holds: int  # cycles until the next instruction can have it
    latency: int  # cycles until the result can be used
    rank: int
    count: int = 1  # how many there are
    is_first: bool = False  # instructions that take it begin before others of the same cycle


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline in order."""

    slots: int  # instructions that begin in a cycle
    units: Mapping[str, Unit]  # by how names of instructions begin; the first that fits


@dataclass(frozen=True, slots=True)
class _Group:
    """A line, or lines that stay together, with the registers that they read and write."""

    lines: tuple[AsmLine, ...]
    unit: Unit
    holds: int
    reads: frozenset[str]
    writes: frozenset[str]


def in_order(lines: Sequence[AsmLine], pipeline: Pipeline) -> list[AsmLine]:
    """The same lines in another order."""
    done: list[AsmLine] = []
    free: list[_Group] = []
    for group in _groups(lines):
        if group[0].stays:
            done += [*_scheduled(free, pipeline), *group]
            free = []
        else:
            free.append(_group(group, pipeline))
    return done + _scheduled(free, pipeline)


def _groups(lines: Sequence[AsmLine]) -> Iterator[tuple[AsmLine, ...]]:
    """Yields lines alone, or a predicate with those under it."""
    left = iter(lines)
    for line in left:
        yield (line, *(next(left) for _ in range(line.predicates)))


def _group(lines: tuple[AsmLine, ...], pipeline: Pipeline) -> _Group:
    own = [line for line in lines if not line.predicates]
    unit = next(unit for start, unit in pipeline.units.items() if own[0].name.startswith(start))
    reads = frozenset(register for line in own for register in line.reads)
    writes = frozenset(register for line in own for register in line.writes)
    return _Group(lines, unit, unit.holds * len(own), reads, writes)


def _scheduled(groups: Sequence[_Group], pipeline: Pipeline) -> list[AsmLine]:
    cycles, waiting = _Cycles(pipeline.slots), _Waiting(groups, 0 if pipeline.slots > 1 else 1)
    begun, left = [], list(range(len(groups)))
    while left:
        last = left[:_WINDOW][-1]
        begins = {n: cycles.first(groups[n], waiting.results[n]) for n in waiting.ready if n <= last}
        best = min(begins, key=lambda n: (begins[n], groups[n].unit.rank, n))
        cycles.begin(groups[best], begins[best])
        waiting.begin(best, begins[best])
        left.remove(best)
        begun.append(best)
    return [line for n in begun for line in groups[n].lines]


class _Waiting:
    """The groups that wait for no other any more, and the cycles in which their operands are there."""

    def __init__(self, groups: Sequence[_Group], over: int) -> None:
        behind = _behind(groups, over)
        self._missing = [len(before) for before in behind]
        self._after: list[list[tuple[int, int]]] = [[] for _ in groups]
        for n, before in enumerate(behind):
            for other, cycles in before.items():
                self._after[other].append((n, cycles))
        self.results = [0] * len(groups)
        self.ready = {n for n, missing in enumerate(self._missing) if not missing}

    def begin(self, group: int, cycle: int) -> None:
        self.ready.remove(group)
        for n, cycles in self._after[group]:
            self.results[n] = max(self.results[n], cycle + cycles)
            self._missing[n] -= 1
            if not self._missing[n]:
                self.ready.add(n)


class _Cycles:
    """The cycle in which the last group began, what else began in it, and when units are free again."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._now = self._taken = 0
        self._free: dict[str, list[int]] = {}

    def first(self, group: _Group, results: int) -> int:
        """The first cycle in which a group can begin, behind those that have."""
        free = min(self._free.get(group.unit.name, [0]))
        joins = self._taken < self._slots and not (group.unit.is_first and self._taken)
        return max(self._now if joins else self._now + 1, free, results)

    def begin(self, group: _Group, cycle: int) -> None:
        self._taken = self._taken + 1 if cycle == self._now else 1
        self._now = cycle
        free = self._free.setdefault(group.unit.name, [0] * group.unit.count)
        free[free.index(min(free))] = cycle + group.holds


def _behind(groups: Sequence[_Group], over: int) -> list[dict[int, int]]:
    """Finds for each group those that begin before it, and how many cycles: `over` where it writes over."""
    wrote: dict[str, int] = {}
    read: dict[str, list[int]] = {}
    found = []
    for n, group in enumerate(groups):
        before: dict[int, int] = {}
        for register in group.writes:
            before |= dict.fromkeys(read.get(register, ()), over)
            before |= {wrote[register]: max(1, over)} if register in wrote else {}
        for register in group.reads & wrote.keys():
            before[wrote[register]] = groups[wrote[register]].unit.latency
        before.pop(n, None)
        found.append(before)
        for register in group.reads:
            read.setdefault(register, []).append(n)
        for register in group.writes:
            wrote[register] = n
            read[register] = []
    return found
