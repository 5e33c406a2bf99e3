"""depthwise_conv2d: a separate small kernel per channel along the rows.

for c in channels: for m in multiplier: for x in pixels:
    sum = bias[c, m]
    for r in kernel rows: for t in kernel columns:
        sum += x_row[r][x * stride + t][c] * w[c, m][r][t]
    y[x][c, m] = requantised(sum)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.op import required
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.scalar import ADD_WRAPPING
from codegen.kernels import register_tile
from codegen.kernels.depthwise_blocks import op_of
from codegen.kernels.f32_sums import DEPTHWISE_CONV2D
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.knobs import Point, Space
from codegen.kernels.requantised import Requantised, channel_constants, fitted_tail, requantised
from codegen.kernels.strategy import OpKernel, RowRequests, Strategy, by_dtype
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Expr,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.loops.schedule import privatize, reorder, split, unroll

_UNROLLED_TAPS = 9  # of a kernel row, or of a column if that is all
_UNROLLED_SMALL = 3  # for small code
Element = Callable[[Buffer], Expr]  # of the rows, in loops c, column, r and t


@dataclass(frozen=True)
class DepthwiseRows:
    """A row of outputs as a strategy computes it, with its open knobs."""

    strategy: str
    why: str
    proc: Proc
    weights: Array
    space: Space | None = None
    point: Point = field(default_factory=dict)
    slowed_by_edges: bool = False


def filters_of(site: Site) -> Array:
    """Returns the filters as [channel][kernel row][kernel column]."""
    return np.moveaxis(site.constants[1], 2, 0)


def tail_of(site: Site) -> Requantised:
    op = op_of(site)
    return requantised(site, op, filters_of(site), site.outputs[0], op.scales_in_single)


def fitted_tail_of(site: Site) -> Requantised:
    return fitted_tail(tail_of(site), filters_of(site), site.input(0).dtype)


def depthwise_kernel(site: Site, y: RowFormat, tail: Requantised, made: DepthwiseRows) -> Kernel:
    op, w = op_of(site), site.constants[1]
    kernel = f"{w.shape[0]}x{w.shape[1]}"
    strides = f", stride {op.stride[0]}x{op.stride[1]}" if op.stride != (1, 1) else ""
    return Kernel(
        strategy=made.strategy,
        why=made.why,
        proc=made.proc,
        summary=(
            f"One row of a depthwise convolution: {kernel}{strides}, {w.shape[2]} channels, {y.width} pixels."
        ),
        access=(RowAccess(op.stride[0], -op.padding[0][0], w.shape[0], op.dilation[0]),),
        constants={"w": made.weights, **tail.tables_of(made.proc.params)},
        space=made.space,
        point=made.point,
        slowed_by_edges=made.slowed_by_edges,
    )


def _requests(site: Site) -> RowRequests:
    """Requests rows of pixels in their stored type."""
    (top, bottom), (left, right) = op_of(site).padding
    return (RowRequest(ElementOrder.PIXELS, site.input(0).dtype.bytes, left, right, top, bottom),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail, (rows, columns, _) = fitted_tail_of(site), site.constants[1].shape
    proc = depthwise_nest(site, inputs[0], output, tail)
    small, pixels = site.optimize is Optimize.SIZE, 1
    if site.target.registers and not small and not tail.sums_wrap:
        pixels = min(output.width, register_tile.MOST_PIXELS)
        proc = _in_tiles(proc, pixels)
    proc = _schedule_plain(proc, rows, columns, small)
    why = f"{pixels} outputs at a time, which read each weight once" if pixels > 1 else "one output at a time"
    made = DepthwiseRows("plain", why, proc, filters_of(site).reshape(-1))
    return depthwise_kernel(site, output, tail, made)


def _in_tiles(proc: Proc, pixels: int) -> Proc:
    """Computes several neighbors' sums together; they share weights and the overlap of their windows."""
    proc = privatize(split(proc, "column", pixels, "xb", "xi"), ("sum",), "xi")
    for inner in ("r", "t"):
        proc = reorder(proc, "xi", inner)
    return unroll(proc, "xi")


def depthwise_nest(
    site: Site, x: RowFormat, y: RowFormat, tail: Requantised, element: Element | None = None
) -> Proc:
    """Returns loops filter by filter. `element` replaces the plain load under a tap."""
    op, (kernel_rows, kernel_columns, channels) = op_of(site), site.constants[1].shape
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, kernel_rows)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    w = Buffer("w", site.input(1).dtype, channels * kernel_rows * kernel_columns, Role.CONSTANT)
    total = local("sum", tail.storing.sum_dtype)
    c, m, column, row, tap = (variable(v) for v in ("c", "m", "column", "r", "t"))
    out_channel = c * op.multiplier + m
    channel = channel_constants(tail.storing, channels, out_channel)
    pixel = column * op.stride[1] + tap * op.dilation[1] + (x.left - op.padding[1][0])
    weight = out_channel * (kernel_rows * kernel_columns) + row * kernel_columns + tap
    value = load(xs, pixel * x.x_step + c * x.c_step, row) if element is None else element(xs)
    product = value * load(w, weight)
    add: Stmt = Accumulate(at(total), product)
    if tail.sums_wrap:
        add = Store(at(total), Apply(ADD_WRAPPING, (load(total), product)))
    place = (column + y.left) * y.x_step + out_channel * y.c_step
    body = (
        *let(total, required(channel.start)),
        For("r", kernel_rows, (For("t", kernel_columns, (add,)),)),
        Store(at(ys, place), channel.stored(load(total))),
    )
    filters = For("m", op.multiplier, (*channel.loads, For("column", y.width, body)))
    name = f"depthwise_conv2d_{kernel_rows}x{kernel_columns}_{channels}_by_{y.width}"
    return Proc(name, (xs, ys, w, *channel.tables), (For("c", x.channels, (filters,)),))


def _schedule_plain(proc: Proc, rows: int, columns: int, small: bool) -> Proc:
    """Unrolls a kernel row's taps, because a loop around one product costs more than the product."""
    most = _UNROLLED_SMALL if small else _UNROLLED_TAPS
    proc = unroll(proc, "t") if columns <= most else proc
    return unroll(proc, "r") if columns == 1 and rows <= most else proc


def _lower_nest(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail = fitted_tail_of(site)
    proc = depthwise_nest(site, inputs[0], output, tail)
    made = DepthwiseRows("nest", "unscheduled", proc, filters_of(site).reshape(-1))
    return depthwise_kernel(site, output, tail, made)


NEST = Strategy("nest", _requests, _lower_nest)  # unscheduled
_INTEGERS = OpKernel((Strategy("plain", _requests, _lower),), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, DEPTHWISE_CONV2D)
