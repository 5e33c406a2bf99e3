"""Loops of kernels over flat memory: element by element, pixel by pixel, or vector by vector.

Each operand has the distance between its elements of neighboring steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from types import MappingProxyType

from aot.ir.types import Array, DType, TensorType, dense_strides
from codegen.formats import RowFormat, RowRequest, storage_dtype, whole
from codegen.kernels.kernel import Kernel, RowAccess, Site, row_fits
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Expr,
    For,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
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


def requests_anything(site: Site) -> tuple[RowRequest | None, ...]:
    return (None,)


def applied(site: Site, function: ScalarFunction, x: RowFormat, y: RowFormat, what: str) -> Kernel:
    """Computes y = function(x)."""
    may_alias = row_fits(site, 0, x, y)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, may_alias=may_alias)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT, may_alias=may_alias)
    are_dense = is_dense(x) and is_dense(y)  # then one loop saves the cost per pixel
    element = dense_element if are_dense else pixel_element
    store = Store(at(ys, element(y)), Apply(function, (load(xs, element(x)),)))
    loop = For("i", y.width * y.channels, (store,)) if are_dense else every_pixel(y, store)
    return Kernel(
        proc=Proc(f"{site.node.op.name}_{y.channels}_by_{y.width}", (xs, ys), (loop,)),
        summary=f"One row {what}: {y.said}.",
    )


def pixel_element(fmt: RowFormat) -> Affine:
    """Returns the row element at `column`, channel `c`."""
    return (variable("column") + fmt.left) * fmt.x_step + variable("c") * fmt.c_step


def is_dense(fmt: RowFormat) -> bool:
    """Returns True if there are no gaps between the elements of a row."""
    return fmt.c_step == 1 and fmt.x_step == fmt.channels


def dense_element(fmt: RowFormat) -> Affine:
    """Returns the `i`-th element of a dense row."""
    return variable("i") + fmt.left * fmt.x_step


def every_pixel(y: RowFormat, *body: Stmt) -> For:
    return For("column", y.width, (For("c", y.channels, body),))


# (channel of the input, place of a result channel) -> the statements of a pixel
PixelBody = Callable[[Callable[[Affine | int], Load], Callable[[Affine], BufferPlace]], Sequence[Stmt]]
K = variable("k")  # the loops over channels
NO_TABLES: Mapping[Buffer, Array] = MappingProxyType({})


def vector_kernel(
    site: Site,
    x: RowFormat,
    y: RowFormat,
    body: PixelBody,
    what: str,
    tables: Mapping[Buffer, Array] = NO_TABLES,
) -> Kernel:
    """Returns the kernel that applies `body` to each pixel.

    `what` describes a pixel's result, such as "a softmax". `tables` are the constants that its statements
    read.
    """
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    column = variable("column")

    def element(channel: Affine | int) -> Load:
        first = (column + x.left) * x.x_step
        return load(xs, first if channel == 0 else first + channel * x.c_step)

    def place(channel: Affine) -> BufferPlace:
        return at(ys, (column + y.left) * y.x_step + channel * y.c_step)

    pixels = For("column", x.width, tuple(body(element, place)))
    return Kernel(
        proc=Proc(f"{site.node.op.name}_{x.channels}_by_{x.width}", (xs, ys, *tables), (pixels,)),
        summary=f"One row of {what}: {x.said}.",
        constants={table.name: array for table, array in tables.items()},
    )


@dataclass(frozen=True)
class AxisVector:
    """One vector in a buffer: its first element, and the step between elements."""

    buffer: Buffer
    first: Affine
    step: int = 1

    def at(self, element: Affine | int) -> BufferPlace:
        return at(self.buffer, self.first + to_affine(element) * self.step)

    def load(self, element: Affine | int) -> Load:
        return Load(self.at(element))


Body = Callable[[AxisVector, AxisVector], Sequence[Stmt]]  # (vector of x, vector of the result) -> statements


def last_axis_requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests any rows for images, otherwise a contiguous operand."""
    return (None,) if goes_by_images_rows(site) else flat_requests(site)


def goes_by_images_rows(site: Site) -> bool:
    return all(_is_image(tensor) for tensor in (site.input(0), site.outputs[0]))


def _is_image(tensor: TensorType) -> bool:
    return tensor.rank == 4 and tensor.shape[0] == 1


def last_axis_kernel(
    site: Site,
    inputs: Sequence[RowFormat],
    output: RowFormat,
    body: Body,
    what: str,
    constants: Sequence[Buffer] = (),
) -> Kernel:
    """Returns the kernel that applies `body` to each vector.

    `what` describes all results, such as "the spectrum". `constants` are the ones that the body reads, in
    order.
    """
    if not goes_by_images_rows(site):
        return _over_flat_memory(site, body, what, constants)
    (x,), y = inputs, output
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    column = variable("column")
    vectors = [AxisVector(b, (column + f.left) * f.x_step, f.c_step) for b, f in ((xs, x), (ys, y))]
    pixels = For("column", y.width, tuple(body(vectors[0], vectors[1])))
    return Kernel(
        proc=Proc(
            f"{site.node.op.name}_{y.channels}_of_{x.channels}_by_{y.width}", (xs, *constants, ys), (pixels,)
        ),
        summary=f"One row of {what}: {y.said}.",
        constants={constants[i - 1].name: array.reshape(-1) for i, array in site.constants.items()},
    )


def _over_flat_memory(site: Site, body: Body, what: str, constants: Sequence[Buffer]) -> Kernel:
    xs, ys, row = operand(site, 0, "x"), result(site), variable("row")
    size, made = site.input(0).shape[-1], site.outputs[0].shape[-1]
    vectors = AxisVector(xs, row * size), AxisVector(ys, row * made)
    loop = For("row", ys.elements // made, tuple(body(*vectors)))
    return flat_kernel(site, (xs, *constants), (loop,), what)
