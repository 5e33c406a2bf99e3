"""Loops over flat memory, with the distance between elements of neighboring steps for each operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

from aot.ir.types import DType, TensorType, dense_strides
from codegen.formats import RowRequest, whole
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Buffer,
    BufferPlace,
    Expr,
    For,
    Proc,
    Role,
    Stmt,
    at,
    let,
    load,
    local,
    maximum,
    minimum,
)

_SHORT = 32  # terms that are added one by one


@dataclass(frozen=True)
class StridedNest:
    """Nested loops. `strides` has a row per operand with a stride per size, innermost last."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    def merged(self) -> StridedNest:
        """Returns equivalent but fewer loops: drops loops of one step and fuses contiguous ones."""
        kept: list[tuple[int, tuple[int, ...]]] = []
        for size, steps in zip(self.sizes, zip(*self.strides, strict=True), strict=True):
            if size == 1:
                continue
            if kept and kept[-1][1] == tuple(size * step for step in steps):
                kept[-1] = (kept[-1][0] * size, steps)
            else:
                kept.append((size, steps))
        columns = [tuple(steps[i] for _, steps in kept) for i in range(len(self.strides))]
        return StridedNest(tuple(size for size, _ in kept), tuple(columns))

    def element(self, operand: int, prefix: str = "i") -> Affine:
        """Returns the index of the operand's element in a step, relative to the first."""
        place = Affine()
        for axis, stride in enumerate(self.strides[operand]):
            place = place + variable(f"{prefix}{axis}") * stride
        return place

    def loops(self, *body: Stmt, prefix: str = "i") -> tuple[Stmt, ...]:
        """Returns the loops around the body."""
        for axis, size in reversed(list(enumerate(self.sizes))):
            body = (For(f"{prefix}{axis}", size, body),)
        return body

    def summed(
        self, total: Buffer, term: Callable[[tuple[Affine, ...]], Expr], prefix: str
    ) -> tuple[Stmt, ...]:
        """Adds a term for each step to the total, computed from the operands' elements."""
        if not self.sizes:
            return (Accumulate(at(total), term((Affine(),) * len(self.strides))),)
        last = len(self.sizes) - 1
        outer = StridedNest(self.sizes[:last], tuple(steps[:last] for steps in self.strides))
        places = tuple(outer.element(number, prefix) for number in range(len(self.strides)))
        steps = tuple(row[last] for row in self.strides)

        def inner(k: Affine) -> Expr:
            return term(tuple(place + k * step for place, step in zip(places, steps, strict=True)))

        return outer.loops(*summed(total, f"{prefix}{last}", self.sizes[last], inner), prefix=prefix)


def summed(total: Buffer, var: str, count: int, term: Callable[[Affine], Expr]) -> tuple[Stmt, ...]:
    """Adds `count` terms to the total. Many floats are added in parts, each of which begins at zero.

    A sum of n floats one by one has an error of up to n / 2 units in the last place, one in parts of sqrt(n)
    up to sqrt(n). The mean of a large image would lose two digits.
    """
    if total.dtype is not DType.F32 or count <= _SHORT:
        return (For(var, count, (Accumulate(at(total), term(variable(var))),)),)
    length = max(_SHORT, isqrt(count))
    parts, rest = divmod(count, length)
    part = local(f"{total.name}_part", total.dtype)
    block = variable(f"{var}b") * length
    in_parts = For(
        f"{var}b",
        parts,
        (
            *let(part, 0.0),
            For(var, length, (Accumulate(at(part), term(block + variable(var))),)),
            Accumulate(at(total), load(part)),
        ),
    )
    if not rest:
        return (in_parts,)
    last = term(variable(var) + parts * length)
    return (in_parts, For(var, rest, (Accumulate(at(total), last),)))


def summed_window(
    total: Buffer, rows: int, taps: int, term: Callable[[Affine, Affine], Expr]
) -> tuple[Stmt, ...]:
    """Adds the terms of each (row, tap) to the total, in loops r and t; many floats row by row."""
    r, t = variable("r"), variable("t")
    if total.dtype is not DType.F32 or rows * taps <= _SHORT:
        return (For("r", rows, (For("t", taps, (Accumulate(at(total), term(r, t)),)),)),)
    if taps == 1 or rows == 1:
        var, count = ("r", rows) if taps == 1 else ("t", taps)
        return summed(total, var, count, lambda k: term(k, Affine()) if taps == 1 else term(Affine(), k))
    row = local("row", total.dtype)
    added = (
        *let(row, 0.0),
        *summed(row, "t", taps, lambda k: term(r, k)),
        Accumulate(at(total), load(row)),
    )
    return (For("r", rows, added),)


def grown(place: BufferPlace, count: int, term: Callable[[Affine], Expr]) -> tuple[Stmt, ...]:
    """Adds a row's terms, in loop t, to a sum kept between rows; floats as one part."""
    if place.buffer.dtype is not DType.F32 or count == 1:
        return (For("t", count, (Accumulate(place, term(variable("t"))),)),)
    row = local("row", DType.F32)
    return (
        *let(row, 0.0),
        *summed(row, "t", count, term),
        Accumulate(place, load(row)),
    )


def repeated_strides(shape: Sequence[int], whole: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a tensor that is broadcast along dimensions that are missing or have size 1."""
    missing = len(whole) - len(shape)
    strides = dense_strides(shape)
    return (0,) * missing + tuple(0 if size == 1 else step for size, step in zip(shape, strides, strict=True))


def flat_requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests contiguous operands."""
    return tuple(whole(site.input(i)) for i in _moving(site))


def _moving(site: Site) -> list[int]:
    first = 1 if site.in_place else 0  # the result is in the first one's memory
    return [i for i in range(first, len(site.inputs)) if i not in site.constants]


def operand(site: Site, position: int, name: str) -> Buffer:
    """Returns an input as one array, constant or not."""
    tensor = site.input(position)
    role = Role.CONSTANT if position in site.constants else Role.ROWS
    return Buffer(name, tensor.dtype, tensor.elements, role)


def result(site: Site) -> Buffer:
    out = site.outputs[0]
    return Buffer("y", out.dtype, out.elements, Role.OUTPUT)


def flat_kernel(site: Site, operands: Sequence[Buffer], body: Sequence[Stmt], what: str) -> Kernel:
    """Returns the kernel. `operands` has a buffer for each input that is passed, in order."""
    sizes, part = sizes_text(site.outputs[0]), "_in_place" if site.in_place else ""
    return Kernel(
        strategy="flat",
        why="over whole tensors",
        proc=Proc(f"{site.node.op.name}_{sizes}{part}", (*operands, result(site)), tuple(body)),
        summary=f"All of {what}: {sizes} elements.",
        access=(RowAccess(stride=1, first=0, count=1),) * len(_moving(site)),
        constants={
            operands[i - site.in_place].name: array.reshape(-1) for i, array in site.constants.items()
        },
        whole=True,
    )


def sizes_text(tensor: TensorType) -> str:
    return "x".join(map(str, tensor.shape)) or "1"


def within(number: Expr, size: int) -> Expr:
    """Clamps an index to the valid range."""
    from_front = maximum(number, 0)
    return minimum(from_front, size - 1)
