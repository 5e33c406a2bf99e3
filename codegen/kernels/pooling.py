"""Rows, elements and padding of a pool's window, shared by the pools."""

from __future__ import annotations

from aot.ops.spatial import Pool2d
from codegen.formats import RowFormat, RowRequest
from codegen.kernels.kernel import RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Proc
from codegen.loops.schedule import unroll

_UNROLLED_TAPS = 8
_T = variable("t")


def pool_of(site: Site) -> Pool2d:
    return site.op_as(Pool2d)


def pool_requests(site: Site, neutral: int) -> tuple[RowRequest | None, ...]:
    """Requests any rows, with padding of a value that does not change the result."""
    (top, bottom), (left, right) = pool_of(site).padding
    if not any((top, bottom, left, right)):
        return (None,)
    size = site.input(0).dtype.bytes
    return (RowRequest(dtype_bytes=size, left=left, right=right, top=top, bottom=bottom, fill=neutral),)


def pool_access(site: Site) -> tuple[RowAccess, ...]:
    op = pool_of(site)
    return (RowAccess(op.stride[0], -op.padding[0][0], op.size[0]),)


def window_element(op: Pool2d, x: RowFormat, tap: Affine = _T) -> Affine:
    """Returns the element under a tap of output `column`, channel c."""
    pixel = variable("column") * op.stride[1] + tap + (x.left - op.padding[1][0])
    return pixel * x.x_step + variable("c") * x.c_step


def scheduled_pool(proc: Proc, site: Site) -> Proc:
    """Unrolls the row of a small window."""
    is_short = pool_of(site).size[1] <= _UNROLLED_TAPS
    return unroll(proc, "t") if is_short and not site.is_plain else proc


def result_element(y: RowFormat) -> Affine:
    return (variable("column") + y.left) * y.x_step + variable("c") * y.c_step
