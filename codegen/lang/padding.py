"""Pads a reduction to a multiple: zeros in the constant, and no read past the end of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    BufferPlace,
    Cast,
    Expr,
    For,
    Load,
    Proc,
    Stmt,
    loads_of,
    walk,
)
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import ScheduleError, pad_reduction


def padded(proc: Proc, loop: str, multiple: int, zeros: str) -> tuple[Proc, Packing]:
    """Returns the proc with a longer loop, and the packing of the constant, with zeros in the padding."""
    loops = [stmt for stmt in walk(proc.body) if isinstance(stmt, For)]
    longer = [each for each in loops if each.var == loop]
    if len({each.extent for each in longer}) != 1:
        raise ScheduleError(f"there are loops {loop} of several lengths" if longer else f"no loop {loop}")
    sums = [stmt for each in longer for stmt in walk(each.body) if not isinstance(stmt, For)]
    if not all(isinstance(stmt, Accumulate) and stmt.place.buffer.dtype.is_integer for stmt in sums):
        raise ScheduleError(f"loop {loop} must only add up integers to be extended")
    kept = next(
        (stmt for stmt in sums if isinstance(stmt, Accumulate) and not _is_nothing(stmt.value, zeros)), None
    )
    if kept is not None:
        raise ScheduleError(f"loop {loop} does not add up products with {zeros}: zeros would change the sum")
    made = pad_reduction(proc, loop, multiple, zeros)
    order = list(dict.fromkeys(each.var for each in loops))
    made, packing = pack(made, zeros, order, variable(loop), longer[0].extent)
    for place, last in _reads(made.body, {}):
        most = _greatest(place.index, last)
        if most >= place.buffer.elements:
            raise ScheduleError(
                f"{place.buffer.name} has {place.buffer.elements} elements, and element {most} would be read"
            )
    return made, packing


def _is_nothing(value: Expr, zeros: str) -> bool:
    """Returns True if the value is 0 whenever all elements of constant `zeros` are 0."""
    match value:
        case Load(place):
            return place.buffer.name == zeros
        case Cast(_, inner):
            return _is_nothing(inner, zeros)
        case Binary("*" | "&", left, right):
            return _is_nothing(left, zeros) or _is_nothing(right, zeros)
        case Binary("<<" | ">>" | "//" | "%", left, _):
            return _is_nothing(left, zeros)
        case Binary("+" | "-" | "|" | "^", left, right):
            return _is_nothing(left, zeros) and _is_nothing(right, zeros)
    return False


def _reads(body: Sequence[Stmt], last: Mapping[str, int]) -> Iterator[tuple[BufferPlace, Mapping[str, int]]]:
    """Yields the places that sums read, each with the last iteration of every outer loop."""
    for stmt in body:
        match stmt:
            case For(var, extent, inner):
                yield from _reads(inner, {**last, var: extent - 1})
            case Accumulate(_, value):
                yield from ((load.place, last) for load in loads_of(value))


def _greatest(index: Affine, last: Mapping[str, int]) -> int:
    return index.constant + sum(max(0, factor * last[name]) for name, factor in index.terms)
