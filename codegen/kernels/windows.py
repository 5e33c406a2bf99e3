"""windows: one row copied together from the rows of a line that it spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aot.ir.types import DType
from aot.ops.op import Window
from aot.ops.windows import Windows
from codegen.formats import Want, geometry, storage_dtype
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import Buffer, For, Proc, Role, Stmt, Store, at, load
from codegen.model import RowFormat

_AT_ONCE = 8  # elements, where they become wider; others are copied by what the compiler knows for that
_DTYPES = frozenset({DType.I8, DType.I16, DType.F32})


def _op(site: Site) -> Windows:
    assert isinstance(site.node.op, Windows)
    return site.node.op


def _window(site: Site) -> Window:
    (window,) = _op(site).row_map(site.inputs, site.outputs)
    assert window is not None
    return window


def _wants(site: Site) -> tuple[Want | None, ...]:
    """Rows of zero points where windows reach beyond the line."""
    window, rows = _window(site), geometry(site.input(0)).rows
    end = (_op(site).rows - 1) * window.stride + window.offset + window.size
    return (
        Want(dtype_bytes=site.input(0).dtype.bytes, top=max(0, -window.offset), bottom=max(0, end - rows)),
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), y, window = inputs, output, _window(site)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, window.size)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    return Kernel(
        schedule="copy",
        why="pixels that lie together are computed faster than one at a time",
        proc=Proc(f"windows_{y.channels}_by_{y.width}", (xs, ys), tuple(_copies(site, x, y, xs, ys))),
        summary=f"One row cut out of a line: {y.said}.",
        access=(RowAccess(window.stride, window.offset, window.size),),
    )


def _copies(site: Site, x: RowFormat, y: RowFormat, xs: Buffer, ys: Buffer) -> Iterator[Stmt]:
    """Out of the first row what is wanted of it, all of those between, of the last its first pixels."""
    window = _window(site)
    skipped = -_op(site).before - window.offset * x.width
    head = min(x.width - skipped, y.width)
    between = max(0, window.size - 2)
    yield _copy(x, y, xs, ys, Stretch(head, from_pixel=skipped))
    if between:
        row = variable("row")
        stretch = Stretch(x.width, row + 1, to_pixel=row * x.width + head)
        yield For("row", between, (_copy(x, y, xs, ys, stretch),))
    done = head + between * x.width
    if y.width > done:
        yield _copy(x, y, xs, ys, Stretch(y.width - done, between + 1, to_pixel=done))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Pixels that lie together in both."""

    pixels: int
    row: Affine | int = 0
    from_pixel: int = 0
    to_pixel: Affine | int = 0


def _copy(x: RowFormat, y: RowFormat, xs: Buffer, ys: Buffer, stretch: Stretch) -> For:
    first, to = stretch.from_pixel + x.left, to_affine(stretch.to_pixel) + y.left
    if x.c_step == y.c_step == 1:  # then pixel after pixel is element after element
        times = _AT_ONCE if xs.dtype is not ys.dtype and stretch.pixels * x.channels % _AT_ONCE == 0 else 1
        element = variable("i") * times + variable("one")
        copy = Store(
            at(ys, element + to * y.x_step), load(xs, element + first * x.x_step, to_affine(stretch.row))
        )
        return For("i", stretch.pixels * x.channels // times, (For("one", times, (copy,), unrolled=True),))
    column, c = variable("column"), variable("c")
    source, place = (column + first) * x.x_step + c * x.c_step, (column + to) * y.x_step + c * y.c_step
    copy = Store(at(ys, place), load(xs, source, stretch.row))
    return For("column", stretch.pixels, (For("c", x.channels, (copy,)),))


KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=_DTYPES)
