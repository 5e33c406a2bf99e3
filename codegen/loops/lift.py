"""Lift: procs that are equal but for integer literals become one, with those literals as parameters.

    for xb in 24: ... x + xb * 16 ...              for xb in xb_count: ... x + xb * x_per_xb ...
    for xb in 12: ... x + xb * 32 ...      ->      with (24, 16) and (12, 32)

Literals that differ together, whatever they stand for, are one parameter; `lowered` puts a proc's own
back in their places and so gives what was lifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegen.loops.ir import Proc
from codegen.loops.literals import Site, map_literals
from codegen.loops.print_c import register_buffers


class Parameter(int):
    """A literal that C shows by name, since others who share the text have another number there."""

    name: str

    def __new__(cls, value: int, name: str) -> Parameter:
        made = super().__new__(cls, value)
        made.name = name
        return made

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Lifted:
    proc: Proc  # with parameters for literals; its numbers are those of the first proc
    numbers: tuple[Mapping[str, int], ...]  # by parameter, for each of the procs


def shape_of(proc: Proc) -> Proc:
    """What procs must have in common to be lifted together: all but their literals."""
    return map_literals(proc, register_buffers(proc.body), lambda site, value: 0)


def literals_of(proc: Proc) -> list[tuple[Site, int]]:
    found: list[tuple[Site, int]] = []

    def note(site: Site, value: int) -> int:
        found.append((site, value))
        return value

    map_literals(proc, register_buffers(proc.body), note)
    return found


def lift(procs: Sequence[Proc]) -> Lifted:
    """Procs of one shape, with their loops written out, as one."""
    if len(procs) == 1:  # has nothing that differs
        return Lifted(procs[0], ({},))
    rows = [literals_of(proc) for proc in procs]
    columns: list[tuple[int, ...]] = list(zip(*([value for _, value in row] for row in rows), strict=True))
    sites = [site for site, _ in rows[0]]
    names = _parameter_names(sites, columns)
    left = iter(zip(sites, columns, strict=True))

    def change(_: Site, value: int) -> int:
        site, column = next(left)
        if site.is_room:
            return max(column)
        return Parameter(value, names[column]) if column in names else value

    proc = map_literals(procs[0], register_buffers(procs[0].body), change)
    numbers = tuple({name: column[i] for column, name in names.items()} for i in range(len(procs)))
    return Lifted(proc, numbers)


def lowered(proc: Proc, numbers: Mapping[str, int]) -> Proc:
    """A lifted proc with numbers for its parameters."""

    def change(_: Site, value: int) -> int:
        return numbers[value.name] if isinstance(value, Parameter) else value

    return map_literals(proc, register_buffers(proc.body), change)


def _parameter_names(sites: Sequence[Site], columns: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
    """Of what differs from proc to proc; called after the first place where C shows it."""
    names: dict[tuple[int, ...], str] = {}
    taken: set[str] = set()
    for site, column in sorted(zip(sites, columns, strict=True), key=lambda pair: not pair[0].says):
        if len(set(column)) > 1 and not site.is_room and column not in names:
            names[column] = _free(site.says or "unseen", taken)
    return names


def _free(base: str, taken: set[str]) -> str:
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    taken.add(name)
    return name
