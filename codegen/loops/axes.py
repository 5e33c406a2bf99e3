"""The axes of a flat tensor: splits an index into one per axis and joins them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Body,
    Buffer,
    BufferPlace,
    For,
    Invoke,
    Proc,
    Stmt,
    Store,
    loads_of,
    places_of,
    walk,
)
from codegen.loops.schedule import ScheduleError, reorder

Extents = Mapping[str, int]  # of loops, by variable


@dataclass(frozen=True, slots=True)
class TensorAxis:
    """An axis of a tensor, with the name of its loop."""

    loop: str
    extent: int
    stride: int


@dataclass(frozen=True, slots=True)
class Box:
    """The part of a tensor that one iteration of a loop touches: its begin and size along each axis."""

    begins: tuple[Affine, ...]  # in variables of the outer loops
    sizes: tuple[int, ...]


def axes_of(index: Affine, extents: Extents, buffer: Buffer) -> tuple[TensorAxis, ...]:
    """Returns the axes of a tensor that has one loop per axis, largest stride first."""
    axes = [TensorAxis(var, extents[var], factor) for var, factor in index.terms if extents.get(var, 0) > 1]
    axes.sort(key=lambda axis: -axis.stride)
    inner = [*axes, None][1:]
    is_dense = all(
        axis.stride >= (after.stride * after.extent if after else 1)
        for axis, after in zip(axes, inner, strict=True)
    )
    if not is_dense or index.constant or any(var not in extents for var, _ in index.terms):
        raise ScheduleError(f"{buffer.name}[{index}] is not one element for each turn of its loops")
    return tuple(axes)


def taken_apart(place: BufferPlace, axes: Sequence[TensorAxis], extents: Extents) -> tuple[Affine, ...]:
    """Returns the index along each axis. Raises ScheduleError if an index crosses the end of its axis."""
    found = [Affine() for _ in axes]
    for var, factor in (*place.index.terms, ("", place.index.constant)):
        term = variable(var) if var else Affine(constant=1)
        sign, rest = (-1, -factor) if factor < 0 else (1, factor)
        for number, axis in enumerate(axes):
            times, rest = divmod(rest, axis.stride)
            found[number] = found[number] + term * (sign * times)
        if rest and extents.get(var, 2) > 1:
            raise ScheduleError(f"{place.buffer.name}[{place.index}] does not walk the axes of its tensor")
    for axis, index in zip(axes, found, strict=True):
        if least(index, extents) < 0 or most(index, extents) >= axis.extent:
            raise ScheduleError(f"{place.buffer.name}[{place.index}] goes beyond an axis of its tensor")
    return tuple(found)


def put_together(indices: Iterable[Affine], strides: Sequence[int]) -> Affine:
    return sum((i * stride for i, stride in zip(indices, strides, strict=True)), Affine())


def box_of(places: Sequence[tuple[tuple[Affine, ...], Extents]], inner: Iterable[str], name: str) -> Box:
    """Returns the smallest box that holds these places. Only loops in `inner` move inside it."""
    inside = frozenset(inner)
    begins: list[Affine] = []
    sizes: list[int] = []
    for along in zip(*(indices for indices, _ in places), strict=True):
        around = [Affine(tuple(t for t in index.terms if t[0] not in inside)) for index in along]
        if any(each != around[0] for each in around):
            raise ScheduleError(f"{name} is read at places that move apart")
        offsets = [(index - around[0], extents) for index, (_, extents) in zip(along, places, strict=True)]
        first = min(least(offset, extents) for offset, extents in offsets)
        begins.append(around[0] + first)
        sizes.append(max(most(offset, extents) for offset, extents in offsets) - first + 1)
    return Box(tuple(begins), tuple(sizes))


def least(index: Affine, extents: Extents) -> int:
    return index.constant + sum(min(0, f * (extents[v] - 1)) for v, f in index.terms)


def most(index: Affine, extents: Extents) -> int:
    return index.constant + sum(max(0, f * (extents[v] - 1)) for v, f in index.terms)


def statements(body: Iterable[Stmt], around: Extents) -> Iterator[tuple[Stmt, Extents]]:
    """Yields every statement except loops, with the extents of its outer loops."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from statements(stmt.body, {**around, stmt.var: stmt.extent})
        else:
            yield stmt, around


def goes_beyond(proc: Proc) -> str:
    """Describes an access of a loop that is out of bounds; empty if there is none."""
    for stmt, around in statements(proc.body, {}):
        for place in places_of(stmt):
            low, high = least(place.index, around), most(place.index, around)
            if low < 0 or high >= place.buffer.elements:
                return (
                    f"{proc.name} goes from element {low} to {high} of {place.buffer.name}, "
                    f"which has {place.buffer.elements}"
                )
    return ""


def written(body: Iterable[Stmt]) -> frozenset[Buffer]:
    """Returns the buffers that statements write, including those that instructions write."""
    return frozenset(buffer for stmt, _ in statements(body, {}) for buffer in _written_by(stmt))


def read(body: Iterable[Stmt]) -> frozenset[Buffer]:
    """Returns the buffers that statements read. A sum reads its destination."""
    return frozenset(buffer for stmt, _ in statements(body, {}) for buffer in _read_by(stmt))


def _written_by(stmt: Stmt) -> Iterator[Buffer]:
    match stmt:
        case Store(place) | Accumulate(place):
            yield place.buffer
        case Invoke(instruction, windows):
            changed = written(instruction.body)
            pairs = zip(instruction.params, windows, strict=True)
            yield from (window.buffer for param, window in pairs if param in changed)


def _read_by(stmt: Stmt) -> Iterator[Buffer]:
    match stmt:
        case Store(_, value):
            yield from (each.place.buffer for each in loads_of(value))
        case Accumulate(place, value):
            yield place.buffer
            yield from (each.place.buffer for each in loads_of(value))
        case Invoke(instruction, windows):
            seen = read(instruction.body)
            pairs = zip(instruction.params, windows, strict=True)
            yield from (window.buffer for param, window in pairs if param in seen)


# Reorders nested loops by swapping perfectly nested neighbors until the given order is reached.


def in_order(proc: Proc, loops: Sequence[str]) -> Proc:
    """Returns the proc with these loops in this order, outermost first."""
    while (pair := _misplaced(proc, loops)) is not None:
        proc = reorder(proc, *pair)
    if not _has_nest(proc.body, loops):
        raise ScheduleError("these loops are not perfectly nested")
    return proc


def _misplaced(proc: Proc, order: Sequence[str]) -> tuple[str, str] | None:
    """Returns a loop and the single loop inside it if they must be swapped; otherwise None."""
    for stmt in walk(proc.body):
        match stmt:
            case For(outer, _, (For(inner),)) if outer in order and inner in order:
                if order.index(outer) > order.index(inner):
                    return outer, inner
    return None


def _has_nest(body: Body, order: Sequence[str]) -> bool:
    """Returns True if these loops occur perfectly nested in this order."""
    return any(isinstance(s, For) and s.var == order[0] and _begins(s, order) for s in walk(body))


def _begins(loop: For, order: Sequence[str]) -> bool:
    match order[1:], loop.body:
        case (), _:
            return True
        case rest, (For() as inner,):
            return inner.var == rest[0] and _begins(inner, rest)
    return False
