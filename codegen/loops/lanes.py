"""Vectorize: runs the iterations of a loop in the lanes of a vector register."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.loops.affine import Affine, variable
from codegen.loops.axes import read, written
from codegen.loops.ir import (
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    For,
    Instruction,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    map_places,
    walk,
)
from codegen.loops.schedule import ScheduleError, change_loops, require_own_outputs
from codegen.loops.tensorize import NoMatchError, tensorize


@dataclass(frozen=True)
class Lanes:
    """The instructions that compute `count` elements of a type at once."""

    isa: str
    count: int
    dtype: DType
    instructions: tuple[Instruction, ...]


def vectorize(proc: Proc, var: str, lanes: Lanes) -> Proc:
    """Replaces each statement of a loop by an instruction that computes all iterations in lanes.

    The tail of a split stays scalar. Vector locals get the suffix `_lanes`. A running minimum or maximum
    keeps the element type of its operands.
    """

    def change(loop: For) -> Body:
        if loop.extent == 1:
            return (loop,)
        if loop.extent != lanes.count:
            raise ScheduleError(f"{lanes.isa} has {lanes.count} lanes, {var} has {loop.extent} iterations")
        require_own_outputs(loop)
        shared = [b.name for b in read(loop.body) & written(loop.body) if b.role is not Role.LOCAL]
        if shared:
            raise ScheduleError(f"iterations of {var} read {min(shared)}, which they also write")
        declared = [stmt.buffer for stmt in loop.body if isinstance(stmt, Declare)]
        lanes_of = {buffer: _side_by_side(buffer, loop.body, lanes) for buffer in declared}
        if any(buffer.elements != 1 for buffer in declared):
            raise ScheduleError(f"vectorize {var} before its locals are tiled")

        def widened(place: BufferPlace) -> BufferPlace:
            new = lanes_of.get(place.buffer)
            return place if new is None else BufferPlace(new, variable(var), Affine())

        rest = [_within(stmt, lanes_of) for stmt in loop.body if not isinstance(stmt, Declare)]
        moved = (_innermost(map_places(stmt, widened), loop) for stmt in rest)
        return (*(Declare(buffer) for buffer in lanes_of.values()), *moved)

    wide = change_loops(proc, var, change)
    try:
        made = tensorize(wide, var, lanes.instructions)
    except NoMatchError:
        made = wide
    left = next((s for s in walk(made.body) if isinstance(s, For) and s.var == var and s.extent > 1), None)
    if left is not None:
        raise ScheduleError(f"{lanes.isa} has no instruction for what {var} does to {_target(left)}")
    return made


def lanes_name(local: str) -> str:
    """Returns the name of the vector local. The tail of a split keeps the scalar name."""
    return f"{local}_lanes"


def _side_by_side(local: Buffer, body: Body, lanes: Lanes) -> Buffer:
    one = _narrowed(local, body, lanes.dtype)
    return replace(one, name=lanes_name(local.name), elements=lanes.count)


def _innermost(stmt: Stmt, loop: For) -> Stmt:
    """Returns the statement with `loop` around it; for a nest, around its innermost statements."""
    if isinstance(stmt, For):
        return replace(stmt, body=tuple(_innermost(inner, loop) for inner in stmt.body))
    return replace(loop, body=(stmt,))


def _target(loop: For) -> str:
    return ", ".join(sorted(buffer.name for buffer in written((loop,))))


def _narrowed(local: Buffer, body: Body, dtype: DType) -> Buffer:
    """Returns the local in the lanes' type, if all its values after the first fit that type."""
    stores = [s for s in walk(body) if not isinstance(s, For | Declare) and local in written((s,))]
    is_extreme = all(isinstance(s, Store) and (_begins(s) or _grows(s, local, dtype)) for s in stores)
    return replace(local, dtype=dtype) if is_extreme else local


def _begins(store: Store) -> bool:
    return isinstance(store.value, Const)


def _grows(store: Store, local: Buffer, dtype: DType) -> bool:
    match store.value:
        case Binary("min" | "max", Load(place), Load(other)):
            return place == store.place and place.buffer == local and other.buffer.dtype is dtype
    return False


def _within(stmt: Stmt, narrowed: dict[Buffer, Buffer]) -> Stmt:
    """Returns the statement that initializes a minimum or maximum, with a value that fits the narrow type."""
    match stmt:
        case Store(place, Const(value)) if place.buffer in narrowed:
            low, high = narrowed[place.buffer].dtype.limits
            return replace(stmt, value=Const(min(max(int(value), low), high)))
    return stmt
