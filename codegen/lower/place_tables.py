"""Finds constants that control a kernel's accesses: indices of gathered rows, columns of an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.loops.ir import Accumulate, Element, Expr, Proc, Role, Stmt, Store, loads_of, parts_of, walk


def place_tables(procs: Sequence[Proc]) -> frozenset[str]:
    """Returns the parameters whose values become indices, directly or through locals."""
    stores = [each for proc in procs for each in walk(proc.body) if isinstance(each, Store | Accumulate)]
    found = {name for each in stores for name in _in_places(each.value)}
    while more := {name for each in stores for name in _read_for(each, found)} - found:
        found |= more
    params = (param for proc in procs for param in proc.params)
    return frozenset(param.name for param in params if param.role is Role.CONSTANT) & found


def _in_places(value: Expr) -> Iterator[str]:
    if isinstance(value, Element):
        yield from (each.place.buffer.name for each in loads_of(value.number))
    for part in parts_of(value):
        yield from _in_places(part)


def _read_for(stmt: Stmt, places: set[str]) -> Iterator[str]:
    """Yields the buffers that a store to one of the indices reads."""
    if isinstance(stmt, Store | Accumulate) and stmt.place.buffer.name in places:
        yield from (each.place.buffer.name for each in loads_of(stmt.value))
