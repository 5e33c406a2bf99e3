"""Finds elements that a proc reads before it stores them, and elements it never stores: C has garbage there.

Loops have fixed extents, so each iteration of a statement has a time: the number of statements executed
before it. A read is valid if the first store to the element is earlier. Accesses by instructions are not
checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from aot.ir.types import Array
from codegen.loops.ir import (
    Accumulate,
    Body,
    Buffer,
    BufferPlace,
    Declare,
    Element,
    Expr,
    For,
    Invoke,
    Load,
    Proc,
    Role,
    Store,
    parts_of,
    walk,
)

_OWN = (Role.OUTPUT, Role.SCRATCH, Role.LOCAL)  # hold nothing until the proc writes them
_GIVEN = (Role.ROWS, Role.INPUT, Role.CONSTANT)
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Turn:
    """The loops around a statement: their extents, and the number of statements in one iteration of each."""

    time: int  # of the first iteration
    extents: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)


class _Times:
    """The times of the first read and write of each element of a buffer. A local has them per lifetime."""

    def __init__(self, buffer: Buffer, turn: _Turn) -> None:
        self.buffer = buffer
        self.lives = tuple(turn.extents)  # loops around its declaration; each iteration begins a new lifetime
        shape = (*turn.extents.values(), buffer.elements)
        self.read, self.written = np.full(shape, _NEVER), np.full(shape, _NEVER)

    def note(self, times: Array, place: BufferPlace, turn: _Turn) -> None:
        """Records the time of an access. A loop that does not move it counts with its first iteration."""
        moving = [var for var in turn.extents if var in self.lives or place.index.coefficient(var)]
        grid = np.meshgrid(*(np.arange(turn.extents[var]) for var in moving), indexing="ij", sparse=True)
        at = dict(zip(moving, grid, strict=True))
        time = sum((at[var] * turn.steps[var] for var in moving), np.int64(turn.time))
        index = sum((at[var] * factor for var, factor in place.index.terms), np.int64(place.index.constant))
        where = np.broadcast_arrays(*(at[var] for var in self.lives), index, time)
        np.minimum.at(times, tuple(where[:-1]), where[-1])


_Scope = dict[str, _Times]  # by buffer name


def undefined(proc: Proc) -> str:
    """Describes an undefined element, or a write to a read-only buffer; empty if there is neither."""
    begun: list[_Times] = []
    scope = {p.name: _Times(p, _Turn(1)) for p in proc.params if p.role in _OWN}
    begun.extend(scope.values())
    for stmt, turn, known in _timed(proc.body, _Turn(1), scope, begun):
        if stmt.place.buffer.role in _GIVEN:
            return f"{proc.name} writes {stmt.place.buffer.name}, which is an input"
        _note(stmt, turn, known)
    touched = {w.buffer.name for s in walk(proc.body) if isinstance(s, Invoke) for w in s.windows}
    for times in begun:
        name = times.buffer.name
        early = np.argwhere((times.read != _NEVER) & (times.read <= times.written))
        lacking = np.argwhere(times.written == _NEVER)
        if name not in touched and early.size:
            return f"{proc.name} reads element {early[0][-1]} of {name} before it is written"
        if name not in touched and times.buffer.role is Role.OUTPUT and lacking.size:
            return f"{proc.name} does not write element {lacking[0][-1]} of {name}"
    return ""


def _timed(
    body: Body, turn: _Turn, scope: _Scope, begun: list[_Times]
) -> Iterator[tuple[Store | Accumulate, _Turn, _Scope]]:
    """Yields the stores and sums in textual order."""
    scope = dict(scope)
    for stmt in body:
        match stmt:
            case For(var, extent, inner) if extent:
                steps = {**turn.steps, var: _length(inner)}
                around = _Turn(turn.time, {**turn.extents, var: extent}, steps)
                yield from _timed(inner, around, scope, begun)
            case Declare(buffer):
                scope[buffer.name] = _Times(buffer, turn)
                begun.append(scope[buffer.name])
            case Store() | Accumulate():
                yield stmt, turn, scope
        turn = replace(turn, time=turn.time + _length((stmt,)))


def _length(body: Body) -> int:
    """Returns the number of statements executed."""
    return sum(stmt.extent * _length(stmt.body) if isinstance(stmt, For) else 1 for stmt in body)


def _note(stmt: Store | Accumulate, turn: _Turn, scope: _Scope) -> None:
    """Records when a statement first reads and writes each element."""
    for expr in _parts(stmt.value):
        if isinstance(expr, Load) and expr.place.buffer.name in scope:
            times = scope[expr.place.buffer.name]
            times.note(times.read, expr.place, turn)
        if isinstance(expr, Element) and expr.place.buffer.name in scope:
            times = scope[expr.place.buffer.name]  # the access may be to any element
            np.minimum(times.read, turn.time, out=times.read)
    if stmt.place.buffer.name in scope:
        times = scope[stmt.place.buffer.name]
        times.note(times.read if isinstance(stmt, Accumulate) else times.written, stmt.place, turn)


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for part in parts_of(expr):
        yield from _parts(part)
