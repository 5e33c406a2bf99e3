"""compute_inline: computes the elements of a tensor at each read."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.types import DType
from codegen.loops.affine import Affine
from codegen.loops.axes import (
    Extents,
    taken_apart,
)
from codegen.loops.ir import (
    Accumulate,
    BufferPlace,
    Cast,
    Expr,
    For,
    Load,
    Proc,
    Stmt,
    Store,
    parts_of,
    substitute,
    with_parts,
)
from codegen.loops.schedule import ScheduleError
from codegen.loops.tensor_nest import (
    require_plain_reads,
    require_same_later,
    stage_of,
)


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
