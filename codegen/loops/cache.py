"""Caching: copies the values that a loop iteration reads into a local first, and its results out last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from codegen.loops.affine import Affine, variable
from codegen.loops.axes import least, most, read, written
from codegen.loops.ir import (
    Body,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    load,
    map_places,
    places_of,
    walk,
)
from codegen.loops.ir import at as place_at
from codegen.loops.schedule import ScheduleError

_WRITTEN = (Role.OUTPUT, Role.SCRATCH)
_NEVER_WRITTEN = (Role.INPUT, Role.CONSTANT)


def cache_read(proc: Proc, name: str, var: str, local: str) -> Proc:
    """for v: ... b[i] ... -> for v: declare near; for n: near[n] = b[first + n]; ... near[i - first] ...

    The variables that change inside the loop decide the size of the copy. All reads must begin at the same
    place.
    """
    buffer = next((p for p in proc.params if p.name == name and p.role in _NEVER_WRITTEN), None)
    if buffer is None:
        raise ScheduleError(f"{proc.name} has no input or constant {name}")
    return _in_loops(proc, var, local, lambda body: _with_copy(body, buffer, local))


def cache_write(proc: Proc, name: str, var: str, local: str) -> Proc:
    """for v: ... b[i] = x ... -> for v: declare near; ... near[n] = x ...; for n: b[i] = near[n].

    Each iteration must write at one place per iteration of its inner loops. If it also reads its results, as
    sums do, the local starts with the buffer's previous values.
    """
    buffer = next((p for p in proc.params if p.name == name and p.role in _WRITTEN), None)
    if buffer is None:
        raise ScheduleError(f"{proc.name} has no result {name}")
    if not any(_is_loop(s, var) and buffer in written((s,)) for s in walk(proc.body)):
        raise ScheduleError(f"no loop {var} of {proc.name} writes {name}")
    return _in_loops(proc, var, local, lambda body: _with_copy_out(body, buffer, local))


def _is_loop(stmt: Stmt, var: str) -> bool:
    return isinstance(stmt, For) and stmt.var == var


def _in_loops(proc: Proc, var: str, local: str, change: Callable[[Body], Body]) -> Proc:
    """Returns the proc with the body of every loop of that name changed."""
    if any(isinstance(s, Declare) and s.buffer.name == local for s in walk(proc.body)):
        raise ScheduleError(f"{proc.name} already has a buffer {local}")
    if not any(_is_loop(s, var) for s in walk(proc.body)):
        raise ScheduleError(f"{proc.name} has no loop {var}")

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return stmt
        return replace(stmt, body=change(stmt.body) if stmt.var == var else tuple(map(visit, stmt.body)))

    return replace(proc, body=tuple(map(visit, proc.body)))


def _with_copy_out(body: Body, buffer: Buffer, local: str) -> Body:
    places = {place for stmt in body for place in places_of(stmt) if place.buffer == buffer}
    if not places:
        return body
    inner = _extents(body)
    if any(isinstance(s, Invoke) and any(w.buffer == buffer for w in s.windows) for s in walk(body)):
        raise ScheduleError(f"an instruction writes {buffer.name}: copy it before adding instructions")
    if len(places) > 1 or any(place.row != Affine() for place in places):
        raise ScheduleError(f"{buffer.name} is written at several positions, which one copy cannot hold")
    (place,) = places
    walked = sorted(
        ((v, f) for v, f in place.index.terms if inner.get(v, 1) > 1), key=lambda term: abs(term[1])
    )
    covered, at, count = 0, Affine(), 1
    for loop, factor in walked:
        if abs(factor) <= covered:
            raise ScheduleError(f"{buffer.name}[{place.index}] is the same element in several iterations")
        covered += abs(factor) * (inner[loop] - 1)
        at, count = at + variable(loop) * count, count * inner[loop]
    near = Buffer(local, buffer.dtype, count, Role.LOCAL)
    once = {loop: Affine() for loop, extent in inner.items() if extent == 1}
    names = {**once, **{loop: variable(f"{local}_{loop}") for loop, _ in walked}}
    outside, inside = place.index.substitute(names), at.substitute(names)

    def loops(stmt: Stmt) -> Stmt:
        for loop, _ in walked:
            stmt = For(f"{local}_{loop}", inner[loop], (stmt,))
        return stmt

    moved = tuple(
        map_places(s, lambda p: BufferPlace(near, at, Affine()) if p.buffer == buffer else p) for s in body
    )
    begin = (loops(Store(place_at(near, inside), load(buffer, outside))),) if buffer in read(body) else ()
    return (Declare(near), *begin, *moved, loops(Store(place_at(buffer, outside), load(near, inside))))


def _with_copy(body: tuple[Stmt, ...], buffer: Buffer, local: str) -> tuple[Stmt, ...]:
    inner = {s.var: s.extent for s in walk(body) if isinstance(s, For)}
    places = list(dict.fromkeys(p for stmt in body for p in places_of(stmt) if p.buffer == buffer))
    if not places:
        return body
    begins = {_outside(place.index, inner) for place in places}
    if len(begins) > 1:
        raise ScheduleError(f"{buffer.name} is read from several positions, which one copy cannot hold")
    (begin,) = begins
    offsets = [place.index - begin for place in places]
    first = min(least(offset, inner) for offset in offsets)
    count = max(most(offset, inner) for offset in offsets) - first + 1
    near = Buffer(local, buffer.dtype, count, Role.LOCAL)
    n = f"{local}_n"
    copy = For(n, count, (Store(place_at(near, variable(n)), load(buffer, begin + first + variable(n))),))

    def moved(place: BufferPlace) -> BufferPlace:
        return BufferPlace(near, place.index - begin - first, Affine()) if place.buffer == buffer else place

    return (Declare(near), copy, *(map_places(stmt, moved) for stmt in body))


def _extents(body: Body) -> dict[str, int]:
    """Returns the extent of each loop. Raises ScheduleError if loops of one name differ in extent."""
    found: dict[str, int] = {}
    for stmt in walk(body):
        if isinstance(stmt, For) and found.setdefault(stmt.var, stmt.extent) != stmt.extent:
            raise ScheduleError(f"there are loops {stmt.var} of several lengths")
    return found


def _outside(index: Affine, inner: dict[str, int]) -> Affine:
    """Returns the part of an index that is constant inside the loop, without its constant term."""
    return Affine(tuple((var, factor) for var, factor in index.terms if var not in inner))
