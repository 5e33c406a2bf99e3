"""smooth: one step per row; the previous row is in the arena."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.smooth import Smooth
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain import signal
from codegen.kernels.kernel import Carried, Kernel, RowAccess, Site
from codegen.kernels.row_nests import every_pixel, pixel_element
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, Const, Expr, For, Load, Proc, Role, Store, at, load

_SHARES = ("new", "old")


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests any rows; the initial rows in their stored type."""
    return (None, *(RowRequest(dtype_bytes=site.input(i).dtype.bytes) for i in range(3, len(site.inputs))))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, dtype, x = site.op_as(Smooth), site.outputs[0].dtype, inputs[0]
    size = output.width * output.channels
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    shares = [Buffer(name, dtype, size, Role.CONSTANT) for name in _SHARES]
    state = Buffer("state", dtype, size, Role.STATE)
    ys = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    place = variable("column") * output.channels + variable("c")
    level, before = load(xs, pixel_element(x)), load(state, place)
    made = _next(op, dtype, (level, before, *(load(share, place) for share in shares)))
    body = every_pixel(
        output, Store(at(state, place), made), Store(at(ys, pixel_element(output)), load(state, place))
    )
    name = f"smooth_{output.channels}_by_{output.width}"
    given = [Buffer("before", dtype, size, Role.ROWS)] if len(site.inputs) > 3 else []
    first = (
        load(given[0], variable("i")) if given else Const(op.first if dtype is DType.F32 else int(op.first))
    )
    start = Proc(
        f"{name}_begin", (*given, state), (For("i", size, (Store(at(state, variable("i")), first),)),)
    )
    rows = [site.constants[i] for i in (1, 2)]
    return Kernel(
        strategy="steps",
        why="its only strategy",
        proc=Proc(name, (xs, *shares, state, ys), (body,)),
        summary=f"One row, smoothed: {output.said}.",
        access=(RowAccess(1, 0, 1), *(RowAccess(0, 0, 1) for _ in given)),
        constants={
            share.name: np.ascontiguousarray(row).reshape(-1) for share, row in zip(shares, rows, strict=True)
        },
        carried=Carried(start, state),
    )


def _next(op: Smooth, dtype: DType, values: tuple[Load, ...]) -> Expr:
    level, before, new, old = values
    if dtype is DType.F32:
        return level * new + before * old
    return Apply(signal.noise_estimate(op.up, op.down, limited=False), (level, before, new, old))


KERNEL = OpKernel((Strategy("steps", _requests, _lower),), frozenset({DType.U32, DType.F32}))
