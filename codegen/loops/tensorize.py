"""Tensorize: replaces a loop nest by an instruction with the same meaning."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aot.ir.types import DType
from codegen.loops.affine import Affine, variable
from codegen.loops.axes import read, written
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Cast,
    Choose,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Instruction,
    Invoke,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    map_places,
    parts_of,
    walk,
)
from codegen.loops.schedule import ScheduleError, change_loops, require_own_outputs


class MismatchError(Exception):
    pass


class NoMatchError(ScheduleError):
    """Raised if no instruction means the same as any loop of that name."""


@dataclass
class _Binding:
    """The bindings of a match: target loops for pattern loops, a window per parameter."""

    loops: dict[str, str] = field(default_factory=dict)
    # Loops of extent 1 have the value zero. Variables of one side mean nothing on the other.
    single: dict[str, Affine | int] = field(default_factory=dict)
    pattern_single: dict[str, Affine | int] = field(default_factory=dict)
    windows: dict[str, BufferPlace] = field(default_factory=dict)


def tensorize(proc: Proc, var: str, instructions: Sequence[Instruction]) -> Proc:
    """Replaces every loop `var` by the first instruction that means the same.

    Raises NoMatchError if no loop matches or an accumulating loop does not: a kernel requests an instruction
    that must match. Loops of that name that only store may stay.
    """
    body = _tensorized(proc, proc.body, var, instructions)
    if body is proc.body:
        raise NoMatchError(f"{proc.name} has no loop {var} that an instruction matches")
    return replace(proc, body=body)


def _tensorized(proc: Proc, body: Body, var: str, instructions: Sequence[Instruction]) -> Body:
    """Returns the statements with instructions among them, or `body` itself if none matches."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.var == var:
            result.append(_first_match(proc, stmt, instructions))
        elif isinstance(stmt, For):
            inside = _tensorized(proc, stmt.body, var, instructions)
            result.append(stmt if inside is stmt.body else replace(stmt, body=inside))
        else:
            result.append(stmt)
    return body if all(map(operator.is_, result, body)) else tuple(result)


def _first_match(proc: Proc, loop: For, instructions: Sequence[Instruction]) -> Stmt:
    reasons = []
    for instruction in instructions:
        binding = _Binding()
        try:
            _match_body((loop,), instruction.body, binding)
        except MismatchError as why:
            reasons.append(f"{instruction.name}: {why}")
            continue
        return Invoke(instruction, tuple(binding.windows[p.name] for p in instruction.params))
    if not any(isinstance(s, Accumulate) for s in walk(loop.body)):
        return loop
    raise ScheduleError(f"no instruction for loop {loop.var} of {proc.name}: " + "; ".join(reasons))


def _match_body(target: tuple[Stmt, ...], pattern: tuple[Stmt, ...], binding: _Binding) -> None:
    if len(target) != len(pattern):
        raise MismatchError(f"{len(target)} statements for {len(pattern)}")
    for t, p in zip(target, pattern, strict=True):
        _match_stmt(t, p, binding)


def _match_stmt(target: Stmt, pattern: Stmt, binding: _Binding) -> None:
    match target, pattern:
        case For(var, extent, body), For(pvar, pextent, pbody):
            if extent != pextent:
                raise MismatchError(f"loop {var} runs {extent} times, {pvar} {pextent}")
            if extent == 1:
                binding.single[var] = Affine()
                binding.pattern_single[pvar] = Affine()
            else:
                binding.loops[pvar] = var
            _match_body(body, pbody, binding)
        case Declare(buffer), Declare(pbuffer) if buffer.elements == pbuffer.elements:
            _match_place(at(buffer), at(pbuffer), binding)
        case (Store(place, value), Store(pplace, pvalue)) | (
            Accumulate(place, value),
            Accumulate(pplace, pvalue),
        ):
            _match_place(place, pplace, binding)
            _match_expr(value, pvalue, binding)
        case _:
            raise MismatchError(f"{type(target).__name__} for {type(pattern).__name__}")


def _match_expr(target: Expr, pattern: Expr, binding: _Binding) -> None:
    match target, pattern:
        case Load(place), Load(pplace):
            _match_place(place, pplace, binding)
        case Binary(op, left, right), Binary(pop, pleft, pright) if op == pop:
            _match_expr(left, pleft, binding)
            _match_expr(right, pright, binding)
        case Cast(dtype, value), Cast(pdtype, pvalue) if dtype == pdtype:
            _match_expr(value, pvalue, binding)
        case Apply(function, arguments), Apply(pfunction, parguments) if function == pfunction:
            for argument, pargument in zip(arguments, parguments, strict=True):
                _match_expr(argument, pargument, binding)
        case Const(value), Const(pvalue) if value == pvalue:
            pass
        case Index(value), Index(pvalue):
            if _window(value, pvalue, binding) != Affine():
                raise MismatchError("numbers differ")
        case Choose(), Choose():
            for part, ppart in zip(parts_of(target), parts_of(pattern), strict=True):
                _match_expr(part, ppart, binding)
        case _:
            raise MismatchError(f"{type(target).__name__} for {type(pattern).__name__}")


def _match_place(target: BufferPlace, pattern: BufferPlace, binding: _Binding) -> None:
    """Matches a place. Its index must move with the loops as the pattern's; the rest begins the window."""
    _require_same_kind(target.buffer, pattern.buffer)
    base = _window(target.index, pattern.index, binding)
    row = _window(target.row, pattern.row, binding)
    window = BufferPlace(target.buffer, base, row)
    known = binding.windows.setdefault(pattern.buffer.name, window)
    if known != window:
        raise MismatchError(f"{pattern.buffer.name} begins at two positions")


def _require_same_kind(target: Buffer, pattern: Buffer) -> None:
    if target.dtype != pattern.dtype:
        raise MismatchError(f"{target.name} is {target.dtype.value}, {pattern.name} {pattern.dtype.value}")


def _window(target: Affine, pattern: Affine, binding: _Binding) -> Affine:
    moved = pattern.substitute(binding.pattern_single).substitute(
        {p: variable(t) for p, t in binding.loops.items()}
    )
    base = target.substitute(binding.single) - moved
    stuck = base.variables & set(binding.loops.values())
    if stuck:
        raise MismatchError(f"steps differ along {', '.join(sorted(stuck))}")
    return base


# Vectorize: runs the iterations of a loop in the lanes of a vector register.


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
