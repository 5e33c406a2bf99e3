"""depthwise_conv2d on Helium for windows of any size: sixteen channels of a row of pixels at a time.

for blocks of channels:
    for channels: for pixels: a sum over the window, requantised
"""

from __future__ import annotations

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import given
from aot.ops.rounding import RequantRounding
from aot.target import Optimize
from codegen.formats import Want
from codegen.instr.mve_channels import LANES, MOST, DepthwiseChannels, depthwise_channels
from codegen.instr.mve_requantise import exact_to_int8
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import Requantised, channel_constants
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Accumulate, Binary, Buffer, Declare, For, Proc, Role, Stmt, Store, at, load
from codegen.loops.tensorize import tensorize
from codegen.model import RowFormat


def _op(site: Site) -> DepthwiseConv2d:
    assert isinstance(site.node.op, DepthwiseConv2d)
    return site.node.op


def serves_site(site: Site) -> bool:
    """One filter per channel, whatever the window."""
    op = _op(site)
    return site.mve and site.are_bytes and op.multiplier == 1 and op.rounding is RequantRounding.DOUBLE


def wants(op: DepthwiseConv2d, channels: int) -> Want:
    (top, bottom), (left, right) = op.padding
    return Want(left=left, right=right, top=top, bottom=bottom, slack=-channels % LANES)


def _blocks(channels: int) -> tuple[tuple[int, int, int], ...]:
    """(first channel, blocks, channels of each): sixteens, and what is left."""
    whole, rest = divmod(channels, MOST)
    return tuple(
        (first, n, size) for first, n, size in ((0, whole, MOST), (whole * MOST, 1, rest)) if n * size
    )


def packed_weights(w: Array) -> Array:
    """[block][row][column][channel]; zeros where a block's last eight are not whole."""
    rows, columns, channels = w.shape
    padded = np.concatenate([w, np.zeros((rows, columns, -channels % LANES), np.int8)], axis=2)
    firsts = range(0, channels, MOST)
    return np.concatenate([padded[:, :, first : first + MOST].reshape(-1) for first in firsts])


def lower_proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, channels = site.constants[1].shape
    stride, dilation = _op(site).stride[1], _op(site).dilation[1]
    small = site.optimize is Optimize.SIZE
    proc = _nest(site, x, y, tail)
    tiles = [
        DepthwiseChannels(
            size, rows, columns, dilation * x.x_step, y.width, stride * x.x_step, y.x_step, y.c_step, small
        )
        for _, _, size in _blocks(channels)
    ]
    return tensorize(proc, "j", [depthwise_channels(tile, tail.requant) for tile in tiles])


def _nest(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, channels = site.constants[1].shape
    xs = Buffer("x", DType.I8, x.row_elements, Role.ROWS, rows)
    ys = Buffer("y", DType.I8, y.row_elements, Role.OUTPUT)
    w = Buffer("w", DType.I8, rows * columns * (channels + -channels % LANES), Role.CONSTANT)
    tables = channel_constants(exact_to_int8(tail.requant), channels, Affine()).tables

    def block(first: Affine, size: int) -> For:
        return For("j", size, _channel(site, x, y, tail, (xs, ys, w), first, size))

    body = tuple(
        For(f"block{first}", n, (block(variable(f"block{first}") * size + first, size),))
        for first, n, size in _blocks(channels)
    )
    name = f"depthwise_conv2d_{rows}x{columns}_{channels}_by_{y.width}"
    return Proc(name, (xs, ys, w, *tables), body)


def _channel(
    site: Site,
    x: RowFormat,
    y: RowFormat,
    tail: Requantised,
    buffers: tuple[Buffer, Buffer, Buffer],
    first: Affine,
    size: int,
) -> tuple[Stmt, ...]:
    op, (rows, columns, channels) = _op(site), site.constants[1].shape
    xs, ys, w = buffers
    j, column, r, t = (variable(v) for v in ("j", "column", "r", "t"))
    constants = channel_constants(exact_to_int8(tail.requant), channels, first + j)
    total = Buffer("sum", DType.I32, 1, Role.LOCAL)
    pixel = column * op.stride[1] + t * op.dilation[1] + (x.left - op.padding[1][0])
    packed = -(-size // LANES) * LANES
    weight = first * (rows * columns) + (r * columns + t) * packed + j
    product = Binary("*", load(xs, pixel * x.x_step + first + j, r), load(w, weight))
    body = (
        Declare(total),
        Store(at(total), given(constants.start)),
        For("r", rows, (For("t", columns, (Accumulate(at(total), product),)),)),
        Store(at(ys, (column + y.left) * y.x_step + (first + j) * y.c_step), constants.stored(load(total))),
    )
    return (*constants.loads, For("column", y.width, body))
