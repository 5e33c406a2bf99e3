"""The nest of kernels with one operand: one row from one row, element by element."""

from __future__ import annotations

from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.in_place import row_fits
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.pixels import dense_element, every_pixel, is_dense, pixel_element
from codegen.loops.ir import Apply, Buffer, For, Proc, Role, ScalarFunction, Store, at, load


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
        schedule="plain",
        why="its only schedule",
        proc=Proc(f"{site.node.op.name}_{y.channels}_by_{y.width}", (xs, ys), (loop,)),
        summary=f"One row {what}: {y.said}.",
        access=(RowAccess(stride=1, first=0, count=1),),
    )
