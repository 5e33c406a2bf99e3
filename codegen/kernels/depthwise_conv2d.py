"""depthwise_conv2d: a small kernel per channel along the rows, alone or in blocks of channels.

for c in channels: for m in multiplier: for x in pixels:
    sum = bias[c, m]
    for r in kernel rows: for t in kernel columns:
        sum += x_row[r][x * stride + t][c] * w[c, m][r][t]
    y[x][c, m] = requantised(sum)

SMLAD and vectors share the nest in blocks:

for blocks of channels: for channels of it: for pixels:
    sum = bias[c]
    for r in kernel rows: for t in kernel columns:
        sum += x_row[r][x * stride + t * dilation][c] * w[block][r][t][channel]
    y[x][c] = requantised(sum)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import required
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.requantise import StoreQuantised
from codegen.isa.plain.scalar import ADD_WRAPPING
from codegen.kernels import register_tile
from codegen.kernels.f32_sums import DEPTHWISE_CONV2D
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.knobs import Point, Space
from codegen.kernels.requantised import (
    Requantised,
    channel_constants,
    fitted_tail,
    requantised,
    scale_constants,
)
from codegen.kernels.strategy import Condition, OpKernel, RowRequests, Strategy, by_dtype
from codegen.loops.affine import Affine, variable
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


def op_of(site: Site) -> DepthwiseConv2d:
    return site.op_as(DepthwiseConv2d)


ONE_FILTER_EACH = Condition[Site]("one filter for each channel", lambda site: op_of(site).multiplier == 1)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of `most` channels, the last one smaller. A tap's weights are padded to multiples of `lanes`."""

    channels: int
    most: int
    lanes: int

    @property
    def ranges(self) -> tuple[tuple[int, int, int], ...]:
        """Returns (first channel, number of blocks, channels of each)."""
        whole, rest = divmod(self.channels, self.most)
        both = ((0, whole, self.most), (whole * self.most, 1, rest))
        return tuple((first, count, size) for first, count, size in both if count * size)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, _, size in self.ranges)

    @property
    def past(self) -> int:
        """Returns how many channels are read past a pixel's last one, and multiplied by zero."""
        return -self.channels % self.lanes

    def packed(self, w: Array) -> Array:
        """Packs [row][column][channel] as [block][row][column][channel], with zeros up to whole vectors."""
        padded = np.concatenate([w, np.zeros((*w.shape[:2], self.past), w.dtype)], axis=2)
        firsts = range(0, self.channels, self.most)
        return np.concatenate([padded[:, :, first : first + self.most].reshape(-1) for first in firsts])


def blocks_request(site: Site, blocks: Blocks, dtype_bytes: int) -> RowRequest:
    (top, bottom), (left, right) = op_of(site).padding
    return RowRequest(
        dtype_bytes=dtype_bytes, left=left, right=right, top=top, bottom=bottom, slack=blocks.past
    )


def blocks_nest(
    site: Site, blocks: Blocks, x: RowFormat, y: RowFormat, storing: StoreQuantised, is_late: bool = False
) -> Proc:
    """Returns the nest with loops `c` over a block's channels, `column`, `r` and `t`.

    With `is_late`, the channel's constants are loaded after the sum.
    """
    rows, columns, channels = site.constants[1].shape
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, rows)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    w = Buffer("w", site.input(1).dtype, rows * columns * (channels + blocks.past), Role.CONSTANT)
    tables = channel_constants(storing, channels, Affine()).tables
    body: tuple[Stmt, ...] = ()
    for first, count, size in blocks.ranges:
        name = "block" if first == 0 else "last"
        begin = variable(name) * size + first
        packed = -(-size // blocks.lanes) * blocks.lanes
        channel = _channel(site, (x, y), (xs, ys, w), storing, begin, packed, is_late)
        body += (For(name, count, (For("c", size, channel),)),)
    return Proc(f"depthwise_conv2d_{rows}x{columns}_{channels}_by_{y.width}", (xs, ys, w, *tables), body)


def _channel(
    site: Site,
    formats: tuple[RowFormat, RowFormat],
    buffers: tuple[Buffer, Buffer, Buffer],
    storing: StoreQuantised,
    first: Affine,
    packed: int,
    is_late: bool,
) -> tuple[Stmt, ...]:
    """Returns channel c of the block that begins at `first`. Each tap of the block has `packed` weights."""
    op, (rows, columns, channels) = op_of(site), site.constants[1].shape
    (x, y), (xs, ys, w) = formats, buffers
    c, column, r, t = (variable(v) for v in ("c", "column", "r", "t"))
    constants = channel_constants(storing, channels, first + c)
    total = local("sum", storing.sum_dtype)
    pixel = column * op.stride[1] + t * op.dilation[1] + (x.left - op.padding[1][0])
    weight = first * (rows * columns) + (r * columns + t) * packed + c
    product = load(xs, pixel * x.x_step + first + c, r) * load(w, weight)
    place = (column + y.left) * y.x_step + (first + c) * y.c_step
    window = For("r", rows, (For("t", columns, (Accumulate(at(total), product),)),))
    if is_late:
        scales = scale_constants(storing, channels, first + c)
        begun = let(total, load(constants.tables[0], first + c))
        stored = Store(at(ys, place), scales.stored(load(total)))
        return (For("column", y.width, (*begun, window, *scales.loads, stored)),)
    body = (
        *let(total, required(constants.start)),
        window,
        Store(at(ys, place), constants.stored(load(total))),
    )
    return (*constants.loads, For("column", y.width, body))


_UNROLLED_TAPS = 9  # of a kernel row, or of a column if that is all
_UNROLLED_SMALL = 3  # for small code
_MOST_ROWS = 3  # of a kernel that are all unrolled, if that saves enough
_ROW_INSTRUCTIONS = 4  # saved per kernel row and result: for the loop, and for places relative to a row
_BYTES_PER_INSTRUCTION = 3  # approximate
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
    if not small and _saves_rows(site, output.width, pixels):
        proc = unroll(proc, "r")
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


def _saves_rows(site: Site, width: int, pixels: int) -> bool:
    """Returns True if unrolling a kernel's rows, which are short, saves enough instructions for its code."""
    (rows, columns, channels), height = site.constants[1].shape, site.outputs[0].shape[1]
    if max(rows, columns) > _MOST_ROWS or columns == 1:
        return False
    tiles = [size for size in (pixels, width % pixels) if size]
    row = sum(2 * size * columns + size + 2 * columns for size in tiles)
    saved = _ROW_INSTRUCTIONS * rows * height * width * channels
    code = _BYTES_PER_INSTRUCTION * (rows - 1) * row
    return bool(saved >= register_tile.INSTRUCTIONS_WORTH_A_BYTE * code)


def _lower_nest(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail = fitted_tail_of(site)
    proc = depthwise_nest(site, inputs[0], output, tail)
    made = DepthwiseRows("nest", "unscheduled", proc, filters_of(site).reshape(-1))
    return depthwise_kernel(site, output, tail, made)


NEST = Strategy("nest", _requests, _lower_nest)  # unscheduled
_INTEGERS = OpKernel((Strategy("plain", _requests, _lower),), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, DEPTHWISE_CONV2D)
