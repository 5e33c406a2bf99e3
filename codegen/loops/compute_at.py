"""compute_at and compute_inline: move the nest of a tensor into a loop of its readers, or into each read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from aot.ir.types import DType, dense_strides
from codegen.loops.affine import Affine, variable
from codegen.loops.axes import (
    Box,
    Extents,
    TensorAxis,
    axes_of,
    box_of,
    put_together,
    read,
    statements,
    taken_apart,
    written,
)
from codegen.loops.ir import (
    Accumulate,
    Body,
    Buffer,
    BufferPlace,
    Cast,
    Declare,
    Element,
    Expr,
    For,
    Invoke,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    map_places,
    parts_of,
    places_of,
    substitute,
    walk,
    with_parts,
)
from codegen.loops.schedule import ScheduleError


@dataclass(frozen=True)
class TensorNest:
    """The nest that produces a tensor: a loop per axis, and the innermost statements."""

    position: int  # among the statements of the proc
    buffer: Buffer
    loops: tuple[For, ...]
    axes: tuple[TensorAxis, ...]
    body: Body  # inside the innermost loop

    @property
    def stmts(self) -> Body:
        return self.loops[:1]


def stage_of(proc: Proc, tensor: str, roles: Sequence[Role] = (Role.SCRATCH,)) -> TensorNest:
    buffer = next((p for p in proc.params if p.name == tensor and p.role in roles), None)
    if buffer is None:
        known = ", ".join(p.name for p in proc.params if p.role in roles) or "none"
        raise ScheduleError(f"{proc.name} has no tensor {tensor} between its nests: known: {known}")
    makers = [n for n, stmt in enumerate(proc.body) if buffer in written((stmt,))]
    if len(makers) != 1:
        raise ScheduleError(f"{tensor} is not computed by one nest")
    places = {
        stmt.place if isinstance(stmt, Store | Accumulate) else None
        for stmt, _ in statements((proc.body[makers[0]],), {})
        if buffer in written((stmt,))
    }
    (place, *more) = places
    if place is None or more:
        raise ScheduleError(f"{tensor} is computed at several positions of its nest, or by an instruction")
    loops: list[For] = []
    body: Body = (proc.body[makers[0]],)
    while len(body) == 1 and isinstance(body[0], For) and body[0].var in place.variables | _single(body[0]):
        loops.append(body[0])
        body = body[0].body
    axes = axes_of(place.index, {loop.var: loop.extent for loop in loops}, buffer)
    if math.prod(axis.extent for axis in axes) != buffer.elements:
        raise ScheduleError(
            f"{tensor} does not have one loop for each axis: move it before changing its loops"
        )
    for stmt, _ in statements(body, {}):
        for other in places_of(stmt):
            if other.buffer == buffer and other != place:
                raise ScheduleError(f"{tensor} reads elements of itself")
    return TensorNest(makers[0], buffer, tuple(loops), axes, body)


def _single(loop: For) -> frozenset[str]:
    return frozenset({loop.var} if loop.extent == 1 else ())


def require_same_later(stage: TensorNest, later: Body) -> None:
    """Raises ScheduleError if an operand of the tensor is overwritten before the tensor would be computed."""
    lost = sorted(
        b.name for b in read(stage.stmts) & written(later) if b != stage.buffer and b.role is not Role.LOCAL
    )
    if lost:
        raise ScheduleError(
            f"{lost[0]}, from which {stage.buffer.name} is computed, is written again after it"
        )


def require_plain_reads(body: Body, buffer: Buffer) -> None:
    for stmt, _ in statements(body, {}):
        if isinstance(stmt, Invoke) and any(w.buffer == buffer for w in stmt.windows):
            raise ScheduleError(
                f"{stmt.instruction.name} reads {buffer.name}: move it before adding instructions"
            )
        if isinstance(stmt, Store | Accumulate) and _has_computed_index(stmt.value, buffer):
            raise ScheduleError(f"{buffer.name} is read at a computed index")


def _has_computed_index(expr: Expr, buffer: Buffer) -> bool:
    if isinstance(expr, Element) and expr.place.buffer == buffer:
        return True
    return any(_has_computed_index(part, buffer) for part in parts_of(expr))


def require_free_names(stage: TensorNest, around: Extents) -> None:
    inner = {loop.var for loop in stage.loops} | {s.var for s in walk(stage.body) if isinstance(s, For)}
    taken = sorted(inner & {*around})
    if taken:
        raise ScheduleError(f"the nest of {stage.buffer.name} has a loop {taken[0]}, which would enclose it")


def with_own_locals(body: Body, prefix: str) -> Body:
    """Renames the locals of the statements so that no outer loop has them."""
    mine = {
        s.buffer: replace(s.buffer, name=f"{prefix}_{s.buffer.name}")
        for s in walk(body)
        if isinstance(s, Declare)
    }

    def renamed(place: BufferPlace) -> BufferPlace:
        return replace(place, buffer=mine.get(place.buffer, place.buffer))

    def visit(stmt: Stmt) -> Stmt:
        match stmt:
            case For(_, _, inner):
                return replace(stmt, body=tuple(map(visit, inner)))
            case Declare(buffer):
                return Declare(mine[buffer])
        return map_places(stmt, renamed)

    return tuple(map(visit, body))


def into_box(
    around: Extents,
    buffer: Buffer,
    axes: Sequence[TensorAxis],
    box: Box,
    smaller: Buffer,
    strides: Sequence[int],
) -> Callable[[BufferPlace], BufferPlace]:
    def moved(place: BufferPlace) -> BufferPlace:
        if place.buffer != buffer:
            return place
        indices = taken_apart(place, axes, around)
        offsets = [index - begin for index, begin in zip(indices, box.begins, strict=True)]
        return BufferPlace(smaller, put_together(offsets, strides), Affine())

    return moved


def compute_at(proc: Proc, tensor: str, var: str) -> Proc:
    """Produces a tensor piecewise: each iteration of loop `var` computes only the part that it reads."""
    stage = stage_of(proc, tensor)
    rest = proc.body[: stage.position] + proc.body[stage.position + 1 :]
    require_same_later(stage, proc.body[stage.position + 1 :])
    boxes = dict(_boxes_read(rest, {}, stage, var))
    if not boxes:
        raise ScheduleError(f"no loop {var} reads {tensor}")
    sizes = tuple(max(box.sizes[n] for box in boxes.values()) for n in range(len(stage.axes)))
    smaller = replace(stage.buffer, elements=math.prod(sizes))
    strides = dense_strides(sizes)

    def visit(body: Body, around: Extents) -> Body:
        made: list[Stmt] = []
        for stmt in body:
            if not isinstance(stmt, For):
                made.append(stmt)
                continue
            inside = {**around, stmt.var: stmt.extent}
            box = boxes.get(_key(stmt, around)) if stmt.var == var else None
            if box is None:
                made.append(replace(stmt, body=visit(stmt.body, inside)))
                continue
            require_free_names(stage, inside)
            nest = _nest_of_box(stage, box, smaller, strides)
            readers = tuple(_moved(s, inside, stage, box, smaller, strides) for s in stmt.body)
            made.append(replace(stmt, body=(nest, *readers)))
        return tuple(made)

    body = visit(rest, {})
    params = tuple(smaller if p == stage.buffer else p for p in proc.params)
    return replace(proc, params=params, body=body)


def _key(loop: For, around: Extents) -> tuple[For, tuple[str, ...]]:
    return loop, tuple(around)


def _boxes_read(
    body: Body, around: Extents, stage: TensorNest, var: str
) -> Iterator[tuple[tuple[For, tuple[str, ...]], Box]]:
    """Yields the part that each iteration of these loops reads. Raises ScheduleError for other reads."""
    require_plain_reads(body, stage.buffer)
    for stmt in body:
        if not isinstance(stmt, For):
            if stage.buffer in read((stmt,)):
                raise ScheduleError(f"{stage.buffer.name} is read outside of loop {var} too")
            continue
        inside = {**around, stmt.var: stmt.extent}
        if stmt.var != var:
            yield from _boxes_read(stmt.body, inside, stage, var)
            continue
        places = [
            (taken_apart(place, stage.axes, extents), extents)
            for inner, extents in statements(stmt.body, inside)
            for place in places_of(inner)
            if place.buffer == stage.buffer
        ]
        if places:
            inner_loops = {s.var for s in walk(stmt.body) if isinstance(s, For)}
            yield _key(stmt, around), box_of(places, inner_loops, stage.buffer.name)


def _nest_of_box(stage: TensorNest, box: Box, smaller: Buffer, strides: Sequence[int]) -> Stmt:
    """Returns the nest that produces one box of the tensor, with renamed locals."""
    at = put_together([variable(axis.loop) for axis in stage.axes], strides)
    extents = {axis.loop: size for axis, size in zip(stage.axes, box.sizes, strict=True)}
    values = {
        axis.loop: begin + variable(axis.loop) for axis, begin in zip(stage.axes, box.begins, strict=True)
    }

    def here(place: BufferPlace) -> BufferPlace:
        return BufferPlace(smaller, at, Affine()) if place.buffer == stage.buffer else place

    body = tuple(
        map_places(substitute(s, values), here) for s in with_own_locals(stage.body, stage.buffer.name)
    )
    for loop in reversed(stage.loops):
        body = (replace(loop, extent=extents.get(loop.var, loop.extent), body=body),)
    (nest,) = body
    return nest


def _moved(
    stmt: Stmt, around: Extents, stage: TensorNest, box: Box, smaller: Buffer, strides: Sequence[int]
) -> Stmt:
    """Returns a reader that reads from the box."""
    if isinstance(stmt, For):
        inside = {**around, stmt.var: stmt.extent}
        return replace(stmt, body=tuple(_moved(s, inside, stage, box, smaller, strides) for s in stmt.body))
    return map_places(stmt, into_box(around, stage.buffer, stage.axes, box, smaller, strides))


def compute_inline(proc: Proc, tensor: str) -> Proc:
    """Computes the elements of a tensor at each read and removes the tensor from memory."""
    stage = stage_of(proc, tensor)
    match stage.body:
        case (Store(_, value),):
            pass
        case _:
            raise ScheduleError(f"{tensor} contains a sum, so it cannot be inlined")
    rest = proc.body[: stage.position] + proc.body[stage.position + 1 :]
    require_same_later(stage, proc.body[stage.position + 1 :])
    require_plain_reads(rest, stage.buffer)
    exact = value if stage.buffer.dtype is DType.I32 else Cast(stage.buffer.dtype, value)

    def element(place: BufferPlace, around: Extents) -> Expr:
        indices = taken_apart(place, stage.axes, around)
        single = {loop.var: Affine() for loop in stage.loops}
        values = {**single, **{a.loop: i for a, i in zip(stage.axes, indices, strict=True)}}
        stored = substitute(Store(place, exact), values)
        assert isinstance(stored, Store)
        return stored.value

    def inlined(expr: Expr, around: Extents) -> Expr:
        if isinstance(expr, Load) and expr.place.buffer == stage.buffer:
            return element(expr.place, around)
        return with_parts(expr, [inlined(part, around) for part in parts_of(expr)])

    def visit(stmt: Stmt, around: Extents) -> Stmt:
        match stmt:
            case For(var, extent, inner):
                inside = {**around, var: extent}
                return replace(stmt, body=tuple(visit(s, inside) for s in inner))
            case Store(_, found) | Accumulate(_, found):
                return replace(stmt, value=inlined(found, around))
        return stmt

    params = tuple(p for p in proc.params if p != stage.buffer)
    return replace(proc, params=params, body=tuple(visit(stmt, {}) for stmt in rest))
