"""Cache: what a loop's turn reads of a buffer is copied into a local first."""

from __future__ import annotations

from dataclasses import replace

from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Declare,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    map_places,
    walk,
)
from codegen.loops.schedule import ScheduleError

_NEVER_WRITTEN = (Role.INPUT, Role.CONSTANT)


def cache_read(proc: Proc, name: str, var: str, local: str) -> Proc:
    """for v: ... b[i] ...  ->  for v: declare near; for n: near[n] = b[first + n]; ... near[i - first] ...

    What changes inside the loop decides how much is copied; all reads must begin at the same place.
    """
    buffer = next((p for p in proc.params if p.name == name and p.role in _NEVER_WRITTEN), None)
    if buffer is None:
        raise ScheduleError(f"{proc.name} has no input or constant {name}")
    if any(isinstance(s, Declare) and s.buffer.name == local for s in walk(proc.body)):
        raise ScheduleError(f"{proc.name} has a buffer {local} already")
    found = False

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        nonlocal found
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For) and stmt.var == var:
                found = True
                stmt = replace(stmt, body=_with_copy(stmt.body, buffer, local))
            elif isinstance(stmt, For):
                stmt = replace(stmt, body=visit(stmt.body))
            result.append(stmt)
        return tuple(result)

    body = visit(proc.body)
    if not found:
        raise ScheduleError(f"{proc.name} has no loop {var}")
    return replace(proc, body=body)


def _with_copy(body: tuple[Stmt, ...], buffer: Buffer, local: str) -> tuple[Stmt, ...]:
    inner = {s.var: s.extent for s in walk(body) if isinstance(s, For)}
    places = list(dict.fromkeys(p for stmt in body for p in _places(stmt, buffer)))
    if not places:
        return body
    begins = {_outside(place.index, inner) for place in places}
    if len(begins) > 1:
        raise ScheduleError(f"{buffer.name} is read from several places, which one copy does not hold")
    (begin,) = begins
    offsets = [place.index - begin for place in places]
    first = min(_least(offset, inner) for offset in offsets)
    count = max(_most(offset, inner) for offset in offsets) - first + 1
    near = Buffer(local, buffer.dtype, count, Role.LOCAL)
    n = f"{local}_n"
    copy = For(n, count, (Store(at(near, variable(n)), load(buffer, begin + first + variable(n))),))

    def moved(place: BufferPlace) -> BufferPlace:
        return BufferPlace(near, place.index - begin - first, Affine()) if place.buffer == buffer else place

    return (Declare(near), copy, *(map_places(stmt, moved) for stmt in body))


def _places(stmt: Stmt, buffer: Buffer) -> list[BufferPlace]:
    """The places of the buffer in a statement."""
    found: list[BufferPlace] = []

    def note(place: BufferPlace) -> BufferPlace:
        if place.buffer == buffer:
            found.append(place)
        return place

    map_places(stmt, note)
    return found


def _outside(index: Affine, inner: dict[str, int]) -> Affine:
    """The part of an index that does not change inside the loop, without its constant."""
    return Affine(tuple((var, factor) for var, factor in index.terms if var not in inner))


def _least(offset: Affine, extents: dict[str, int]) -> int:
    return offset.constant + sum(min(0, f * (extents[v] - 1)) for v, f in offset.terms)


def _most(offset: Affine, extents: dict[str, int]) -> int:
    return offset.constant + sum(max(0, f * (extents[v] - 1)) for v, f in offset.terms)
