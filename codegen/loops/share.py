"""Sharing: reduces the common part of neighboring windows once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    loads_of,
    numbers_of,
    substitute,
    walk,
)
from codegen.loops.schedule import ScheduleError


@dataclass(frozen=True, slots=True)
class WindowNest:
    """Perfectly nested loops around one statement that reduces into a local."""

    loops: tuple[For, ...]  # outermost first
    stmt: Store | Accumulate

    def loop(self, var: str) -> For:
        return next(loop for loop in self.loops if loop.var == var)

    @property
    def value(self) -> Expr:
        """Returns the value that one iteration adds or compares."""
        match self.stmt:
            case Store(_, Binary(_, _, value)):
                return value
        return self.stmt.value

    def into(self, place: BufferPlace, value: Expr) -> Stmt:
        """Returns the same reduction of another value into another place."""
        match self.stmt:
            case Store(_, Binary(op)):
                return Store(place, Binary(op, Load(place), value))
        return Accumulate(place, value)

    def neutral(self) -> Const:
        """Returns the neutral value of the reduction."""
        match self.stmt:
            case Store(place, Binary(op)):
                low, high = place.buffer.dtype.limits
                return Const(int(low if op == "max" else high))
        return Const(0)


def share(proc: Proc, var: str, window: str, local: str) -> Proc:
    """Reduces f(u, ..) for each place u of the windows first, and then these values in each window.

    for ..: for window: for var: a[var] += f(var * step + window, ..)
    -> for ..: for u: near[u] += f(u, ..); for window: for var: a[var] += near[var * step + window].

    Sound because integers may be summed and compared in any order, and `near` holds all values that each
    iteration of `var` reads in its window.
    """
    if any(isinstance(s, Declare) and s.buffer.name == local for s in walk(proc.body)):
        raise ScheduleError(f"{proc.name} already has a buffer {local}")
    walked = f"{var}_{window}"
    if any(isinstance(s, For) and s.var == walked for s in walk(proc.body)):
        raise ScheduleError(f"{proc.name} already has a loop {walked}")
    shared = 0

    def visit(stmt: Stmt) -> Body:
        nonlocal shared
        if not isinstance(stmt, For):
            return (stmt,)
        nest = _nest_of(stmt)
        if nest is None or not {var, window} <= {loop.var for loop in nest.loops}:
            return (replace(stmt, body=tuple(made for inner in stmt.body for made in visit(inner))),)
        if nest.loop(var).extent == 1:
            return (stmt,)  # the tail of a split has no neighbors
        shared += 1
        return _shared(nest, var, window, walked, local)

    body = tuple(made for stmt in proc.body for made in visit(stmt))
    if not shared:
        raise ScheduleError(
            f"no loops {var} and {window} are around a reduction into a local, and nothing else"
        )
    return replace(proc, body=body)


def overlaps(reduction: For, var: str) -> tuple[str, ...]:
    """Returns the reduction loops along which the windows of neighboring iterations of `var` overlap."""
    nest = _nest_of(reduction)
    if nest is None or len(nest.loops) == 1:
        return ()
    return tuple(loop.var for loop in nest.loops if _overlap(nest, var, loop))


def _overlap(nest: WindowNest, var: str, window: For) -> bool:
    try:
        return _step(nest, var, window.var) < window.extent
    except ScheduleError:
        return False


def _nest_of(loop: For) -> WindowNest | None:
    loops = [loop]
    while len(loops[-1].body) == 1 and isinstance(loops[-1].body[0], For):
        loops.append(loops[-1].body[0])
    return _reduction(tuple(loops), loops[-1].body[0]) if len(loops[-1].body) == 1 else None


def _reduction(loops: tuple[For, ...], stmt: Stmt) -> WindowNest | None:
    """Returns the nest if its statement reduces independent integers into a local, else None."""
    match stmt:
        case Store(place, Binary("min" | "max", Load(same), value)) if same == place:
            pass
        case Accumulate(place, value):
            pass
        case _:
            return None
    own, read = place.buffer, {each.place.buffer for each in loads_of(value)}
    is_ours = own.role is Role.LOCAL and own.dtype.is_integer and own not in read
    return WindowNest(loops, stmt) if is_ours else None


def _shared(nest: WindowNest, var: str, window: str, walked: str, local: str) -> Body:
    turns, width = nest.loop(var), nest.loop(window)
    index = nest.stmt.place.index
    if not index.coefficient(var) or index.coefficient(window):
        raise ScheduleError(
            f"{nest.stmt.place.buffer.name} does not have a value for each iteration of {var}"
        )
    own = [loop for loop in nest.loops if loop.var != var and index.coefficient(loop.var)]
    rest = [loop for loop in nest.loops if loop not in own and loop.var not in (var, window)]
    if not rest:
        raise ScheduleError(f"only {window} is reduced: iterations of {var} share nothing")
    step = _step(nest, var, window)
    if step >= width.extent:
        raise ScheduleError(
            f"windows of {width.extent} that begin {step} apart do not overlap in iterations of {var}"
        )
    count = (turns.extent - 1) * step + width.extent
    near = Buffer(
        local, nest.stmt.place.buffer.dtype, count * math.prod(loop.extent for loop in own), Role.LOCAL
    )
    base, stride = Affine(), count
    for loop in own:
        base, stride = base + variable(loop.var) * stride, stride * loop.extent
    at_u = BufferPlace(near, base + variable(walked), Affine())
    in_window = BufferPlace(near, base + variable(var) * step + variable(window), Affine())
    along = For(walked, count, (), unrolled=turns.unrolled)
    moved = substitute(nest.into(at_u, nest.value), {var: Affine(), window: variable(walked)})
    last = nest.into(nest.stmt.place, Load(in_window))
    return (
        Declare(near),
        _around((*own, along), Store(at_u, nest.neutral())),
        _around((*rest, *own, along), moved),
        _around((width, *own, turns), last),
    )


def _around(loops: Sequence[For], stmt: Stmt) -> Stmt:
    for loop in reversed(loops):
        stmt = replace(loop, body=(stmt,))
    return stmt


def _step(nest: WindowNest, var: str, window: str) -> int:
    """Returns the distance of two neighboring windows, in iterations of the window's loop."""
    steps = {_ratio(index, var, window) for index in _indices(nest.value)} - {None}
    if len(steps) != 1 or 0 in steps:
        raise ScheduleError(
            f"the reduced values do not walk {var} and {window} as one loop: iterations share nothing"
        )
    (step,) = steps
    assert step is not None
    return step


def _indices(value: Expr) -> Iterator[Affine]:
    for load in loads_of(value):
        yield from (load.place.index, load.place.row)
    yield from (number.value for number in numbers_of(value))


def _ratio(index: Affine, var: str, window: str) -> int | None:
    """Returns the window's steps per iteration: 0 if windows are disjoint, None if the index has neither."""
    turn, step = index.coefficient(var), index.coefficient(window)
    if not turn and not step:
        return None
    return turn // step if step and turn % step == 0 and turn // step > 0 else 0
