"""depthwise_conv2d: each channel's own small kernel along the rows.

for c in channels: for m in multiplier: for x in pixels:
    sum = bias[c, m]
    for r in kernel rows: for t in kernel columns:
        sum += x_row[r][x * stride + t][c] * w[c, m][r][t]
    y[x][c, m] = requantised(sum)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import DType
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import given
from aot.ops.requant import conv_requant, quant_of
from aot.target import Optimize
from codegen.formats import Order, Want, storage_dtype
from codegen.instr import dsp_depthwise, dsp_window
from codegen.instr.dsp_depthwise import DepthwiseRow, depthwise_row
from codegen.instr.dsp_window import Edges, read_past
from codegen.kernels import depthwise_blocks, depthwise_channels, depthwise_channels_mve, depthwise_mve
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.requantised import Requantised, channel_constants, requantised
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Binary, Buffer, Declare, Expr, For, Proc, Role, Store, at, load
from codegen.loops.schedule import unroll
from codegen.loops.tensorize import tensorize
from codegen.model import RowFormat

DSP_KNOBS = (Knob("turns", (1, 2, 4)),)  # of the loop over pairs of outputs, written out
_UNROLLED_TAPS = 9  # of a kernel row; of a column, where it has but one
_UNROLLED_SMALL = 3  # where code shall be small


def _op(site: Site) -> DepthwiseConv2d:
    assert isinstance(site.node.op, DepthwiseConv2d)
    return site.node.op


def _is_dsp_row(site: Site) -> bool:
    op, (rows, columns, _) = _op(site), site.constants[1].shape
    square = rows == columns == dsp_window.KERNEL and site.outputs[0].shape[2] > 1
    plain = op.dilation[1] == 1 and op.stride[1] in dsp_depthwise.STRIDES
    return site.dsp and square and plain and site.are_bytes


def _wants(site: Site) -> tuple[Want | None, ...]:
    """Planes for the vector schedules, else pixels as they come."""
    if depthwise_mve.serves_site(site):
        return (depthwise_mve.wants(_op(site)),)
    if depthwise_channels_mve.serves_site(site):
        return (depthwise_blocks.wants(site, depthwise_channels_mve.blocks_of(site), 1),)
    (top, bottom), (left, right) = _op(site).padding
    if _is_dsp_row(site):
        edges = _edges(site)
        if edges is not None:
            past = read_past(site.outputs[0].shape[2], _op(site).stride[1], edges)
            return (Want(Order.PLANES, 1, 0, 0, top, bottom, slack=past),)
        return (Want(Order.PLANES, 1, left, right, top, bottom, slack=dsp_depthwise.READ_AHEAD),)
    if depthwise_channels.serves_site(site):
        return (depthwise_channels.wants(site),)
    return (Want(Order.PIXELS, site.input(0).dtype.bytes, left, right, top, bottom),)


def _edges(site: Site) -> Edges | None:
    """Of planes without margins: a window may hang over by one pixel."""
    op, x, y = _op(site), site.input(0), site.outputs[0]
    edges = Edges(x.shape[2], op.padding[1][0], quant_of(x).zero_point)
    right = (y.shape[2] - 1) * op.stride[1] + dsp_window.KERNEL - edges.left - edges.width
    return edges if site.bare and 0 < max(edges.left, right) <= 1 else None


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, w = _op(site), site.constants[1]
    filters = np.moveaxis(w, 2, 0)  # [channel][kernel row][kernel column]
    multipliers = conv_requant(site.input(0), site.input(1), site.outputs[0], w.shape[2])
    bias = site.constants.get(2)
    tail = requantised(
        filters, bias, multipliers, site.input(0), site.outputs[0], op.activation, op.rounding, site.dsp
    )
    proc = _nest(site, inputs[0], output, tail)
    weights = filters.reshape(-1)
    has_words = tail.to_int8.sum_dtype is DType.I32
    space: Space | None = None
    point: Point = {}
    row: DepthwiseRow | None = None
    if depthwise_mve.serves_site(site):
        proc = depthwise_mve.lower_proc(site, inputs[0], output, tail)
        weights = depthwise_mve.packed_weights(w)
        schedule, why = "helium", "rows of planes interleaved, a window in one vector"
    elif depthwise_channels_mve.serves_site(site):
        proc = depthwise_channels_mve.lower_proc(site, inputs[0], output, tail)
        weights = depthwise_channels_mve.blocks_of(site).packed(w)
        schedule, why = "helium", "sixteen channels side by side"
    elif has_words and _is_dsp_row(site):
        row = _dsp_row(site, output)
        space = _dsp_space(f"{proc.name} planes", row)
        point = space.chosen(site.tuned)
        proc = tensorize(proc, "column", [depthwise_row(replace(row, turns=point["turns"]), tail.to_int8)])
        weights = np.append(weights, np.zeros(dsp_depthwise.READ_AHEAD, np.int8))
        schedule, why = "smlad", "3x3 windows along planes, nine weights in five registers"
    elif has_words and depthwise_channels.serves_site(site):
        space = depthwise_channels.space(f"{proc.name} channels", site, inputs[0], output)
        point = space.chosen(site.tuned)
        proc = depthwise_channels.lower_proc(site, inputs[0], output, tail, point)
        weights = depthwise_channels.blocks_of(site).packed(w)
        schedule = "smlad"
        why = f"{point['pixels']} x 4 sums per tile, {inputs[0].dtype_bytes * 8}-bit rows"
    else:
        proc = _schedule_plain(proc, w.shape[0], w.shape[1], site.optimize is Optimize.SIZE)
        schedule, why = "plain", "one output at a time"
    kernel = f"{w.shape[0]}x{w.shape[1]}"
    strides = f", stride {op.stride[0]}x{op.stride[1]}" if op.stride != (1, 1) else ""
    return Kernel(
        schedule=schedule,
        why=why,
        proc=proc,
        summary=(
            f"One row of a depthwise convolution: {kernel}{strides}, "
            f"{w.shape[2]} channels, {output.width} pixels."
        ),
        access=(RowAccess(op.stride[0], -op.padding[0][0], w.shape[0], op.dilation[0]),),
        constants={"w": weights, **tail.tables},
        space=space,
        point=point,
        slowed_by_edges=row is not None and row.edges is not None,
    )


def _nest(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    op, (kernel_rows, kernel_columns, channels) = _op(site), site.constants[1].shape
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, kernel_rows)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    w = Buffer("w", site.input(1).dtype, channels * kernel_rows * kernel_columns, Role.CONSTANT)
    total = Buffer("sum", tail.to_int8.sum_dtype, 1, Role.LOCAL)
    c, m, column, row, tap = (variable(v) for v in ("c", "m", "column", "r", "t"))
    out_channel = c * op.multiplier + m
    channel = channel_constants(tail.to_int8, channels, out_channel)
    pixel = column * op.stride[1] + tap * op.dilation[1] + (x.left - op.padding[1][0])
    weight = out_channel * (kernel_rows * kernel_columns) + row * kernel_columns + tap
    edges = _edges(site) if _is_dsp_row(site) else None
    value: Expr = load(xs, pixel * x.x_step + c * x.c_step, row)
    if edges is not None:
        value = edges.value(xs, c * x.c_step + x.left, column * op.stride[1] + tap, row)
    product = Binary("*", value, load(w, weight))
    place = (column + y.left) * y.x_step + out_channel * y.c_step
    body = (
        Declare(total),
        Store(at(total), given(channel.start)),
        For("r", kernel_rows, (For("t", kernel_columns, (Accumulate(at(total), product),)),)),
        Store(at(ys, place), channel.stored(load(total))),
    )
    filters = For("m", op.multiplier, (*channel.loads, For("column", y.width, body)))
    name = f"depthwise_conv2d_{kernel_rows}x{kernel_columns}_{channels}_by_{y.width}"
    return Proc(name, (xs, ys, w, *channel.tables), (For("c", x.channels, (filters,)),))


def _schedule_plain(proc: Proc, rows: int, columns: int, small: bool) -> Proc:
    """A kernel row's taps one after the other: a loop around a product costs more than the product."""
    most = _UNROLLED_SMALL if small else _UNROLLED_TAPS
    proc = unroll(proc, "t") if columns <= most else proc
    return unroll(proc, "r") if columns == 1 and rows <= most else proc


def _dsp_row(site: Site, y: RowFormat) -> DepthwiseRow:
    y_dtype = storage_dtype(site.outputs[0], y)
    edges = _edges(site)
    is_general = site.optimize is Optimize.SIZE and edges is None
    return DepthwiseRow(y.width, _op(site).stride[1], y_dtype, y.x_step, is_general=is_general, edges=edges)


def _dsp_space(task: str, row: DepthwiseRow) -> Space:
    """As many pairs to a turn as divide the row's."""

    def is_possible(point: Point) -> bool:
        straight = row.is_short or row.edges is not None
        return not straight and row.outputs // 2 % point["turns"] == 0

    return Space(task, DSP_KNOBS, {"turns": 1}, is_possible, {"turns": row.outputs // 2})


KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=frozenset({DType.I8, DType.I16}))
