"""Orders lines of assembly so that the pipeline stalls least.

In each cycle, the ready line of the lowest rank is issued; ties follow the written order. Registers are not
renamed, so a line stays after lines whose results it reads, and after lines that read or write its result.
Labels and jumps keep their places, and other lines do not cross them; predicated lines stay together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.isa.asm_line import AsmLine

_WINDOW = 64  # groups to consider; registers do not permit larger distances


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the pipeline that an instruction occupies."""

    name: str
    holds: int  # cycles until the next instruction can use it
    latency: int  # cycles until the result can be used
    rank: int
    count: int = 1  # number of such units
    is_first: bool = False  # its instructions are issued before others of the same cycle


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An in-order pipeline."""

    slots: int  # instructions issued per cycle
    units: Mapping[str, Unit]  # by prefixes of instruction names; the first match counts


@dataclass(frozen=True, slots=True)
class _Group:
    """A line, or lines that stay together, with the registers that they read and write."""

    lines: tuple[AsmLine, ...]
    unit: Unit
    holds: int
    reads: frozenset[str]
    writes: frozenset[str]


def in_order(lines: Sequence[AsmLine], pipeline: Pipeline) -> list[AsmLine]:
    """Returns the same lines in another order."""
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
    """Yields single lines, or a predicate with the lines that it covers."""
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
    """The groups whose predecessors have been issued, and the cycles in which their operands are ready."""

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
    """The cycle of the last issue, its other instructions, and when units are free again."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._now = self._taken = 0
        self._free: dict[str, list[int]] = {}

    def first(self, group: _Group, results: int) -> int:
        """Returns the first cycle in which a group can be issued, after those already issued."""
        free = min(self._free.get(group.unit.name, [0]))
        joins = self._taken < self._slots and not (group.unit.is_first and self._taken)
        return max(self._now if joins else self._now + 1, free, results)

    def begin(self, group: _Group, cycle: int) -> None:
        self._taken = self._taken + 1 if cycle == self._now else 1
        self._now = cycle
        free = self._free.setdefault(group.unit.name, [0] * group.unit.count)
        free[free.index(min(free))] = cycle + group.holds


def _behind(groups: Sequence[_Group], over: int) -> list[dict[int, int]]:
    """Returns each group's predecessors with the cycles between them; `over` if it overwrites a register."""
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
