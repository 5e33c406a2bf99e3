"""The nest that produces one tensor, and how to move it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from codegen.loops.affine import Affine
from codegen.loops.axes import (
    Box,
    Extents,
    TensorAxis,
    axes_of,
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
    Declare,
    Element,
    Expr,
    For,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    map_places,
    parts_of,
    places_of,
    walk,
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
