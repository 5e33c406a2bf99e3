"""compute_at: moves the nest that produces a tensor into a loop of its readers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from aot.ir.strides import dense_strides
from codegen.loops.affine import Affine, variable
from codegen.loops.axes import (
    Box,
    Extents,
    box_of,
    put_together,
    read,
    statements,
    taken_apart,
)
from codegen.loops.ir import (
    Body,
    Buffer,
    BufferPlace,
    For,
    Proc,
    Stmt,
    map_places,
    places_of,
    substitute,
    walk,
)
from codegen.loops.schedule import ScheduleError
from codegen.loops.tensor_nest import (
    TensorNest,
    into_box,
    require_free_names,
    require_plain_reads,
    require_same_later,
    stage_of,
    with_own_locals,
)


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
