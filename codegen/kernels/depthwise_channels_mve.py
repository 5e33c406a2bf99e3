"""depthwise_conv2d on Helium for windows of any size: sixteen channels of a row of pixels at a time."""

from __future__ import annotations

from aot.ops.rounding import RequantRounding
from aot.target import Optimize
from codegen.instr.mve_channels import LANES, MOST, DepthwiseChannels, depthwise_channels
from codegen.instr.mve_requantise import exact_to_int8
from codegen.kernels.depthwise_blocks import Blocks, nest, op_of
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import Requantised
from codegen.loops.ir import Proc
from codegen.loops.tensorize import tensorize
from codegen.model import RowFormat


def serves_site(site: Site) -> bool:
    """One filter per channel, whatever the window."""
    op = op_of(site)
    return site.mve and site.are_bytes and op.multiplier == 1 and op.rounding is RequantRounding.DOUBLE


def blocks_of(site: Site) -> Blocks:
    return Blocks(site.constants[1].shape[2], MOST, LANES)


def lower_proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, _ = site.constants[1].shape
    stride, dilation = op_of(site).stride[1], op_of(site).dilation[1]
    small = site.optimize is Optimize.SIZE
    proc = nest(site, blocks_of(site), x, y, exact_to_int8(tail.requant))
    tiles = [
        DepthwiseChannels(
            size, rows, columns, dilation * x.x_step, y.width, stride * x.x_step, y.x_step, y.c_step, small
        )
        for size in blocks_of(site).sizes
    ]
    return tensorize(proc, "c", [depthwise_channels(tile, tail.requant) for tile in tiles])
