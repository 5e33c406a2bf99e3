"""Loops of kernels that compute a row: element by element, pixel by pixel, or vector by vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from aot.ir.types import Array, TensorType
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.kernel import Kernel, Site, row_fits
from codegen.kernels.nest import flat_kernel, flat_requests, operand, result
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    BufferPlace,
    For,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
)


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
