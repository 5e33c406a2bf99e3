"""Puts lines of assembly into the order in which a pipeline takes them with the least waiting.

Cycle by cycle, what can begin does, and of several the one that comes first in the written order among those
of the lowest rank. Registers are kept, so a line stays behind those whose results it reads and those that
read or write what it writes. Labels and jumps stay where they are, and lines between them; what is under a
predicate stays together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_OPERAND = re.compile(r"%q?\[\w+\]|\bq[0-7]\b")
_STAYS = re.compile(r"\d+:|bne|le |dls|subs|cmp|vctp|mov ")  # how lines begin over which nothing moves
_PREDICATE = re.compile(r"vps(t+)$")
_STORES, _SUMS = ("st", "vst"), ("smla", "vmladava")  # how names of instructions begin


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the pipeline that an instruction takes."""

    name: str
    holds: int  # cycles until the next instruction can have it
    latency: int  # cycles until the result can be used
    rank: int


Units = Mapping[str, Unit]  # by how names of instructions begin; the first that fits


@dataclass(frozen=True, slots=True)
class _Group:
    """A line, or lines that stay together, with the registers that they read and write."""

    lines: tuple[str, ...]
    unit: Unit
    holds: int
    reads: frozenset[str]
    writes: frozenset[str]


def in_order(lines: Sequence[str], units: Units) -> list[str]:
    """The same lines in another order."""
    done: list[str] = []
    free: list[_Group] = []
    for group in _groups(lines):
        if _STAYS.match(group[0]):
            done += [*_scheduled(free), *group]
            free = []
        else:
            free.append(_read(group, units))
    return done + _scheduled(free)


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields lines alone, or a predicate with those under it."""
    left = iter(lines)
    for line in left:
        predicate = _PREDICATE.match(line)
        count = len(predicate[1]) if predicate else 0
        yield (line, *(next(left) for _ in range(count)))


def _read(lines: tuple[str, ...], units: Units) -> _Group:
    own = [line for line in lines if not _PREDICATE.match(line)]
    unit = next(unit for start, unit in units.items() if own[0].startswith(start))
    pairs = [_registers(line) for line in own]
    reads = frozenset().union(*(each for each, _ in pairs))
    writes = frozenset().union(*(each for _, each in pairs))
    return _Group(lines, unit, unit.holds * len(own), reads, writes)


def _registers(line: str) -> tuple[frozenset[str], frozenset[str]]:
    """The registers that a line reads, and those that it writes."""
    name, _, operands = line.partition(" ")
    first, *others = named = _OPERAND.findall(operands)
    moved = {named[-1]} if "]], " in operands or operands.endswith("!") else set()
    if name.startswith(_STORES):
        return frozenset(named), frozenset(moved)
    also = {first} if name.startswith(_SUMS) else set()
    return frozenset(others) | also, frozenset({first}) | moved


def _scheduled(groups: Sequence[_Group]) -> list[str]:
    behind = _behind(groups)
    begun: dict[int, int] = {}
    free_at: dict[str, int] = {}
    left = list(range(len(groups)))
    now = 0
    while left:
        best = min(
            (n for n in left if all(before in begun for before in behind[n])),
            key=lambda n: (_earliest(n, groups, behind, begun, free_at, now), groups[n].unit.rank, n),
        )
        begun[best] = _earliest(best, groups, behind, begun, free_at, now)
        now = begun[best] + 1
        free_at[groups[best].unit.name] = begun[best] + groups[best].holds
        left.remove(best)
    return [line for n in begun for line in groups[n].lines]


def _earliest(
    n: int,
    groups: Sequence[_Group],
    behind: Sequence[Mapping[int, int]],
    begun: Mapping[int, int],
    free_at: Mapping[str, int],
    now: int,
) -> int:
    """The first cycle in which a group can begin, all of whose predecessors have."""
    results = (begun[before] + cycles for before, cycles in behind[n].items())
    return max(now, free_at.get(groups[n].unit.name, 0), *results, 0)


def _behind(groups: Sequence[_Group]) -> list[dict[int, int]]:
    """For each group those that must begin before it, and how many cycles before."""
    wrote: dict[str, int] = {}
    read: dict[str, list[int]] = {}
    found = []
    for n, group in enumerate(groups):
        before: dict[int, int] = {}
        for register in group.writes:
            before |= dict.fromkeys(read.get(register, ()), 1)
            before |= {wrote[register]: 1} if register in wrote else {}
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
