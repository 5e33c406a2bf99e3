"""reverse_compute_at: moves a nest to the end of a loop that produces its input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aot.ir.types import dense_strides
from codegen.loops.affine import Affine, variable
from codegen.loops.axes import (
    Box,
    Extents,
    TensorAxis,
    axes_of,
    box_of,
    read,
    statements,
    taken_apart,
    written,
)
from codegen.loops.compute_at import (
    TensorNest,
    into_box,
    require_free_names,
    require_plain_reads,
    stage_of,
    with_own_locals,
)
from codegen.loops.ir import (
    Body,
    Buffer,
    BufferPlace,
    For,
    Invoke,
    Proc,
    Role,
    Stmt,
    map_places,
    places_of,
    substitute,
    walk,
)
from codegen.loops.schedule import ScheduleError

_COUNTED = 1 << 20  # elements at most of a tensor that is checked place by place


def reverse_compute_at(proc: Proc, tensor: str, var: str) -> Proc:
    """Computes, in each iteration of an earlier loop, the part of a tensor that depends on it alone."""
    reader = stage_of(proc, tensor, (Role.SCRATCH, Role.OUTPUT))
    source, at = _source_of(proc, reader)
    makers = [n for n, stmt in enumerate(proc.body) if source in written((stmt,))]
    if len(makers) != 1 or makers[0] >= reader.position:
        raise ScheduleError(f"{source.name} is not computed by one nest before {tensor}")
    (maker,) = makers
    _require_movable(proc, reader, source, maker)
    axes = _axes_of_source(proc, source, at, reader)
    loop, around = _only_loop(proc.body[maker], var, source)
    require_free_names(reader, {**around, var: loop.extent})
    box = _box_written(loop, around, source, axes)
    parts = _parts_of_box(reader, at, axes, box)
    if parts is None:
        raise ScheduleError(
            f"an iteration of {var} does not compute all of {source.name} that {tensor} needs"
        )
    moved = {name: begin + variable(name) for name, (begin, _) in parts.items()}
    body: Body = tuple(substitute(stmt, moved) for stmt in with_own_locals(reader.body, tensor))
    for each in reversed(reader.loops):
        body = (replace(each, extent=parts[each.var][1] if each.var in parts else each.extent, body=body),)
    changed = replace(loop, body=(*loop.body, *body))
    nest = _replaced(proc.body[maker], loop, changed)
    others = [stmt for n, stmt in enumerate(proc.body) if n not in (maker, reader.position)]
    result = list(proc.body)
    result[maker] = nest
    del result[reader.position]
    made = replace(proc, body=tuple(result))
    is_shared = source in read(others) or source.role is Role.OUTPUT
    return made if is_shared else _with_room_for(made, source, axes, box, maker)


def _axes_of_source(
    proc: Proc, source: Buffer, at: BufferPlace, reader: TensorNest
) -> tuple[TensorAxis, ...]:
    """Returns the axes of the tensor that a nest reads: its producer's, or the nest's if loops changed."""
    extents = _extents(reader.stmts)
    try:
        axes = stage_of(proc, source.name).axes
        taken_apart(at, axes, extents)
    except ScheduleError:
        return axes_of(at.index, extents, source)
    return axes


def _parts_of_box(
    reader: TensorNest, at: BufferPlace, axes: Sequence[TensorAxis], box: Box
) -> Mapping[str, tuple[Affine, int]] | None:
    """Returns begin and extent of each loop so that the reader needs only this box; None if impossible."""
    own = {axis.loop: axis.extent for axis in reader.axes}
    found: dict[str, tuple[Affine, int]] = {}
    along = taken_apart(at, axes, _extents(reader.stmts))
    for axis, index, begin, size in zip(axes, along, box.begins, box.sizes, strict=True):
        match index.terms:
            case ((name, 1),) if own.get(name) == axis.extent and name not in found:
                found[name] = begin, size
            case _ if (begin, size) != (Affine(), axis.extent):
                return None
    return found


def _extents(body: Body) -> Extents:
    return {s.var: s.extent for s in walk(body) if isinstance(s, For)}


def _source_of(proc: Proc, reader: TensorNest) -> tuple[Buffer, BufferPlace]:
    """Returns the tensor that another nest produced for this one, and the single place that reads it."""
    require_plain_reads(reader.stmts, reader.buffer)
    made = written(tuple(s for n, s in enumerate(proc.body) if n != reader.position))
    places = {
        place
        for stmt, _ in statements(reader.stmts, {})
        for place in places_of(stmt)
        if place.buffer in made and place.buffer.role is not Role.LOCAL
    }
    if len(places) != 1:
        count = len({place.buffer for place in places})
        raise ScheduleError(
            f"{reader.buffer.name} reads {count} tensors of other nests, "
            f"at {len(places)} positions: only one is supported"
        )
    (place,) = places
    require_plain_reads(reader.stmts, place.buffer)
    return place.buffer, place


def _require_movable(proc: Proc, reader: TensorNest, source: Buffer, maker: int) -> None:
    between = proc.body[maker : reader.position]
    clash = {b for b in read(reader.stmts) & written(between) if b != source and b.role is not Role.LOCAL}
    clash |= {
        b for b in written(reader.stmts) & (read(between) | written(between)) if b.role is not Role.LOCAL
    }
    if clash:
        raise ScheduleError(f"{min(b.name for b in clash)} is in use between the two nests")


def _only_loop(nest: Stmt, var: str, source: Buffer) -> tuple[For, Extents]:
    """Returns the only loop of that name, which produces the whole tensor, and the loops around it."""
    found: list[tuple[For, Extents]] = []

    def visit(stmt: Stmt, around: Extents) -> None:
        if isinstance(stmt, For):
            if stmt.var == var:
                found.append((stmt, around))
            for inner in stmt.body:
                visit(inner, {**around, stmt.var: stmt.extent})

    visit(nest, {})
    makers = [each for each in found if source in written((each[0],))]
    outside = _replaced(nest, makers[0][0], For(var, 1, ())) if len(makers) == 1 else nest
    if len(makers) != 1 or source in written((outside,)):
        raise ScheduleError(f"no loop {var} computes all of {source.name}")
    return makers[0]


def _box_written(loop: For, around: Extents, source: Buffer, axes: Sequence[TensorAxis]) -> Box:
    """Returns the box that one iteration produces. Boxes have no gaps, and together cover the tensor."""
    inside = {**around, loop.var: loop.extent}
    places = []
    for stmt, extents in statements(loop.body, inside):
        if isinstance(stmt, Invoke) and any(w.buffer == source for w in stmt.windows):
            raise ScheduleError(
                f"{stmt.instruction.name} computes {source.name}: move it before adding instructions"
            )
        places += [
            (taken_apart(place, axes, extents), extents)
            for place in places_of(stmt)
            if place.buffer == source
        ]
    inner = {s.var for s in walk(loop.body) if isinstance(s, For)}
    box = box_of(places, inner, source.name)
    elements = math.prod(axis.extent for axis in axes)
    if elements > _COUNTED:
        raise ScheduleError(f"{source.name} has {elements} elements, the limit is {_COUNTED}")
    made = {
        tuple(index.evaluate(values) for index in offsets)
        for offsets, extents in (
            (tuple(i - b for i, b in zip(indices, box.begins, strict=True)), extents)
            for indices, extents in places
        )
        for values in _turns({v: n for v, n in extents.items() if v in inner})
    }
    starts = [tuple(b.evaluate(values) for b in box.begins) for values in _turns(inside)]
    is_once = len({*starts}) == len(starts) and len(starts) * math.prod(box.sizes) == elements
    is_apart = not any(s % n for start in starts for s, n in zip(start, box.sizes, strict=True))
    if len(made) != math.prod(box.sizes) or not is_once or not is_apart:
        raise ScheduleError(f"iterations of {loop.var} do not compute separate boxes of {source.name}")
    return box


def _turns(extents: Extents) -> Iterator[Mapping[str, int]]:
    for values in itertools.product(*(range(n) for n in extents.values())):
        yield dict(zip(extents, values, strict=True))


def _replaced(stmt: Stmt, old: For, new: For) -> Stmt:
    if stmt is old:
        return new
    return (
        replace(stmt, body=tuple(_replaced(s, old, new) for s in stmt.body))
        if isinstance(stmt, For)
        else stmt
    )


def _with_room_for(proc: Proc, source: Buffer, axes: Sequence[TensorAxis], box: Box, nest: int) -> Proc:
    """Returns the proc with the tensor reduced to one box, since producer and reader now share a loop."""
    smaller = replace(source, elements=math.prod(box.sizes))
    strides = dense_strides(box.sizes)

    def visit(stmt: Stmt, around: Extents) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, body=tuple(visit(s, {**around, stmt.var: stmt.extent}) for s in stmt.body))
        return map_places(stmt, into_box(around, source, axes, box, smaller, strides))

    body = list(proc.body)
    body[nest] = visit(body[nest], {})
    params = tuple(smaller if p == source else p for p in proc.params)
    return replace(proc, params=params, body=tuple(body))
