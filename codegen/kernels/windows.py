"""windows: copies a row from the rows of a line that it spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aot.ir.types import DType
from aot.ops.windows import Windows
from codegen.formats import RowFormat, RowRequest, geometry, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import Buffer, For, Proc, Role, Stmt, Store, at, load

_AT_ONCE = 8  # elements, if they are widened; otherwise the compiler's copy is used
_DTYPES = frozenset({DType.I8, DType.I16, DType.F32})


def _op(site: Site) -> Windows:
    return site.op_as(Windows)


def _access(site: Site) -> RowAccess:
    """Returns the image rows that one window spans."""
    op, columns = _op(site), site.input(0).shape[2]
    first = -op.before // columns
    last = (op.length - 1 - op.before) // columns
    return RowAccess(op.step // columns, first, last - first + 1)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests rows of zero points if windows extend past the ends of the line."""
    access, rows = _access(site), geometry(site.input(0)).rows
    end = (_op(site).rows - 1) * access.stride + access.first + access.count
    return (
        RowRequest(
            dtype_bytes=site.input(0).dtype.bytes, top=max(0, -access.first), bottom=max(0, end - rows)
        ),
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), y, access = inputs, output, _access(site)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, access.count)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    return Kernel(
        strategy="copy",
        why="adjacent pixels are computed faster than one at a time",
        proc=Proc(f"windows_{y.channels}_by_{y.width}", (xs, ys), tuple(_copies(site, x, y, xs, ys))),
        summary=f"One row cut out of a line: {y.said}.",
        access=(access,),
    )


def _copies(site: Site, x: RowFormat, y: RowFormat, xs: Buffer, ys: Buffer) -> Iterator[Stmt]:
    """Copies the end of the first row, all rows between, and the beginning of the last."""
    access = _access(site)
    skipped = -_op(site).before - access.first * x.width
    head = min(x.width - skipped, y.width)
    between = max(0, access.count - 2)
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
    """Pixels that are contiguous in both source and result."""

    pixels: int
    row: Affine | int = 0
    from_pixel: int = 0
    to_pixel: Affine | int = 0


def _copy(x: RowFormat, y: RowFormat, xs: Buffer, ys: Buffer, stretch: Stretch) -> For:
    first, to = stretch.from_pixel + x.left, to_affine(stretch.to_pixel) + y.left
    if x.c_step == y.c_step == 1:  # then consecutive pixels are consecutive elements
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


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), _DTYPES)
