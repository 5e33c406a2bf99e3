"""depthwise_conv2d in blocks of neighboring channels: the nest that SMLAD and Helium share.

for blocks of channels: for channels of it: for pixels:
    sum = bias[c]
    for r in kernel rows: for t in kernel columns:
        sum += x_row[r][x * stride + t * dilation][c] * w[block][r][t][channel]
    y[x][c] = requantised(sum)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import required
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.requantise import StoreQuantised
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import channel_constants, scale_constants
from codegen.kernels.strategy import Condition
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Accumulate, Buffer, For, Proc, Role, Stmt, Store, at, let, load, local


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
