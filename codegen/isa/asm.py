"""Inline assembly as data: its lines, their best order for a pipeline, and compilers with few registers.

A line has an instruction, the registers that it writes and reads, and its text. Lines are ordered so that the
pipeline stalls least. In each cycle, the ready line of the lowest rank is issued. No ranks are best for all
bodies, so there may be several pipelines that differ in ranks; the order with the fewest cycles is taken.
Registers are not renamed, so a line stays after lines whose results it reads, and after lines that read or
write its result. Labels and jumps keep their places, and other lines do not cross them; predicated lines stay
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

FEW_REGISTERS = ScalarFunction(
    "FEW_REGISTERS",
    DType.I32,
    """\
/* Some tiles use every general register. clang keeps a few back, and so does code built without optimisation
   or with -fPIC: those builds get the same sums from C. A frame pointer would take one too, so this file has
   none, whatever the options. If another option reserves a register (-ffixed-r9), gcc reports
   "'asm' operand has impossible constraints": then add -DFEW_REGISTERS (`deploy docs own-project`). */
#if defined(__clang__) || !defined(__OPTIMIZE__) || defined(__PIC__)
#ifndef FEW_REGISTERS
#define FEW_REGISTERS
#endif
#endif
#ifndef FEW_REGISTERS
#pragma GCC optimize("omit-frame-pointer")
#endif
""",
    lambda: 0,
    # Before the first function: gcc decides then, for the whole file, if R7 is free, and -Og keeps functions.
    is_of_file=True,
)

# Follows a tile that uses all registers but one. With -O3, gcc unrolls short loops and moves statements of
# the next iteration before the tile, and then lacks registers for their values. It moves none across a block
# boundary.
END_OF_BLOCK = ['    __asm__ goto("" : : : : done); /* nothing is brought forward past the tile */', "done:;"]


@dataclass(frozen=True, slots=True)
class AsmLine:
    """One instruction, or a label or predicate between instructions."""

    name: str
    text: str
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    stays: bool = False  # no line is moved across it
    predicates: int = 0  # number of following lines that it predicates


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer register and an offset. If it `moves`, the access advances the pointer."""

    pointer: str
    offset: int | None = None
    moves: bool = False

    @property
    def text(self) -> str:
        if self.moves:
            return f"[{self.pointer}], #{self.offset}"
        return f"[{self.pointer}]" if self.offset is None else f"[{self.pointer}, #{self.offset}]"


def operand(name: str) -> str:
    """Returns the register of a C operand of the asm statement."""
    return f"%[{name}]"


def loads(name: str, results: tuple[str, ...], address: Address) -> AsmLine:
    moved = (address.pointer,) if address.moves else ()
    text = f"{name} {', '.join(results)}, {address.text}"
    return AsmLine(name, text, (*results, *moved), (address.pointer,))


def computes(name: str, result: str, *operands: str, end: str = "") -> AsmLine:
    """Returns an instruction that writes its first register; `end` is a trailing shift or number."""
    written = [result, *operands, *([end] if end else [])]
    return AsmLine(name, f"{name} {', '.join(written)}", (result,), operands)


def adds_to(name: str, total: str, *operands: str) -> AsmLine:
    """Returns an instruction that also reads its first register, such as an accumulation."""
    return AsmLine(name, f"{name} {', '.join((total, *operands))}", (total,), (total, *operands))


def stays(text: str) -> AsmLine:
    """Returns a label, jump or count, across which no line is moved."""
    return AsmLine(text.partition(" ")[0], text, stays=True)


def predicate(text: str, lines: int) -> AsmLine:
    """Returns VPST or a similar predicate, with the number of lines that it covers."""
    return AsmLine(text, text, predicates=lines)


_WINDOW = 64  # groups to consider; registers do not permit larger distances
_TURNS = 3  # of a body, after which each takes as long as the one before


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the pipeline that an instruction occupies."""

    name: str  # alternatives are separated by bars
    holds: int  # cycles until the next instruction can use it
    latency: int  # cycles until the result can be used
    rank: int
    count: int = 1  # number of such units
    is_first: bool = False  # its instructions are issued before others of the same cycle
    late: int = 0  # cycles after issue when its instructions read their operands


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An in-order pipeline."""

    slots: int  # instructions issued per cycle
    units: Mapping[str, Unit]  # by prefixes of instruction names; the first match counts
    by_path: bool = False  # of equal ranks, the longest path of results comes first, else the written order


@dataclass(frozen=True, slots=True)
class _Group:
    """A line, or lines that stay together, with the registers that they read and write."""

    lines: tuple[AsmLine, ...]
    unit: Unit
    holds: int
    reads: frozenset[str]
    writes: frozenset[str]


def in_order(lines: Sequence[AsmLine], *pipelines: Pipeline) -> list[AsmLine]:
    """Returns the same lines in another order, the fastest for one of the pipelines."""
    done: list[AsmLine] = []
    free: list[tuple[AsmLine, ...]] = []
    for group in _groups(lines):
        if group[0].stays:
            done += [*_fastest(free, pipelines), *group]
            free = []
        else:
            free.append(group)
    return done + _fastest(free, pipelines)


def _fastest(free: Sequence[tuple[AsmLine, ...]], pipelines: Sequence[Pipeline]) -> list[AsmLine]:
    orders = (_scheduled([_group(lines, each) for lines in free], each) for each in pipelines)
    if len(pipelines) > 1 and free:
        best = min(orders, key=lambda order: _cycles_of_turn(order, pipelines[0].slots))
    else:
        best = next(orders)
    return [line for group in best for line in group.lines]


def _cycles_of_turn(order: Sequence[_Group], slots: int) -> int:
    """Returns the cycles of a turn of a loop whose body is in this order."""
    cycles, begins = _Cycles(slots), list[int]()
    turns = [*order] * _TURNS
    for group, before in zip(turns, _behind(turns, _over(slots)), strict=True):
        begins.append(cycles.first(group, max((begins[n] + wait for n, wait in before.items()), default=0)))
        cycles.begin(group, begins[-1])
    return begins[-1] - begins[-1 - len(order)]


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


def _scheduled(groups: Sequence[_Group], pipeline: Pipeline) -> list[_Group]:
    behind = _behind(groups, _over(pipeline.slots))
    cycles, waiting = _Cycles(pipeline.slots), _Waiting(behind)
    paths = _longest_paths(behind) if pipeline.by_path else [0] * len(groups)
    begun, left = [], list(range(len(groups)))
    while left:
        last = left[:_WINDOW][-1]
        begins = {n: cycles.first(groups[n], waiting.results[n]) for n in waiting.ready if n <= last}
        best = min(begins, key=lambda n: (begins[n], groups[n].unit.rank, -paths[n], n))
        cycles.begin(groups[best], begins[best])
        waiting.begin(best, begins[best])
        left.remove(best)
        begun.append(best)
    return [groups[n] for n in begun]


def _over(slots: int) -> int:
    """Returns the cycles after which a register that a line reads may be overwritten."""
    return 0 if slots > 1 else 1


def _longest_paths(behind: Sequence[Mapping[int, int]]) -> list[int]:
    """Returns the cycles from each group to the last one that waits for it."""
    paths = [0] * len(behind)
    for n in reversed(range(len(behind))):
        for before, cycles in behind[n].items():
            paths[before] = max(paths[before], paths[n] + cycles)
    return paths


class _Waiting:
    """The groups whose predecessors have been issued, and the cycles in which their operands are ready."""

    def __init__(self, behind: Sequence[Mapping[int, int]]) -> None:
        self._missing = [len(before) for before in behind]
        self._after: list[list[tuple[int, int]]] = [[] for _ in behind]
        for n, before in enumerate(behind):
            for other, cycles in before.items():
                self._after[other].append((n, cycles))
        self.results = [0] * len(behind)
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
        free = min(self._free.get(name, [0])[0] for name in group.unit.name.split("|"))
        joins = self._taken < self._slots and not (group.unit.is_first and self._taken)
        return max(self._now if joins else self._now + 1, free, results)

    def begin(self, group: _Group, cycle: int) -> None:
        self._taken = self._taken + 1 if cycle == self._now else 1
        self._now = cycle
        names = group.unit.name.split("|")
        units = [self._free.setdefault(name, [0] * group.unit.count) for name in names]
        free = min(units, key=min)
        free[0] = cycle + group.holds
        free.sort()


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
            before[wrote[register]] = groups[wrote[register]].unit.latency - group.unit.late
        before.pop(n, None)
        found.append(before)
        for register in group.reads:
            read.setdefault(register, []).append(n)
        for register in group.writes:
            wrote[register] = n
            read[register] = []
    return found
