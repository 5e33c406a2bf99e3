"""depthwise_conv2d on Helium for windows of any size: sixteen channels of a row of pixels at a time."""

from __future__ import annotations

from collections.abc import Sequence

from aot.target import Optimize
from codegen.formats import RowFormat
from codegen.isa.helium import NEEDS
from codegen.isa.helium.channels import LANES, MOST, DepthwiseChannels, depthwise_channels
from codegen.isa.plain.requantise import exact_store
from codegen.kernels.depthwise_conv2d import (
    ONE_FILTER_EACH,
    Blocks,
    DepthwiseRows,
    blocks_nest,
    blocks_request,
    depthwise_kernel,
    op_of,
    tail_of,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import BYTES, RowRequests, Strategy, requantised_in_lanes
from codegen.loops.ir import Proc
from codegen.loops.tensorize import tensorize


def blocks_of(site: Site) -> Blocks:
    return Blocks(site.constants[1].shape[2], MOST, LANES)


def _proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, _ = site.constants[1].shape
    stride, dilation = op_of(site).stride[1], op_of(site).dilation[1]
    small = site.optimize is Optimize.SIZE
    proc = blocks_nest(site, blocks_of(site), x, y, exact_store(tail.requant))
    tiles = [
        DepthwiseChannels(
            size, rows, columns, dilation * x.x_step, y.width, stride * x.x_step, y.x_step, y.c_step, small
        )
        for size in blocks_of(site).sizes
    ]
    return tensorize(proc, "c", [depthwise_channels(tile, tail.requant) for tile in tiles])


def _requests(site: Site) -> RowRequests:
    return (blocks_request(site, blocks_of(site), 1),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail = tail_of(site)
    proc, weights = _proc(site, inputs[0], output, tail), blocks_of(site).packed(site.constants[1])
    made = DepthwiseRows("helium", "sixteen channels side by side", proc, weights)
    return depthwise_kernel(site, output, tail, made)


STRATEGY = Strategy(
    "helium",
    _requests,
    _lower,
    NEEDS,
    (
        BYTES,
        ONE_FILTER_EACH,
        requantised_in_lanes(tail_of),
    ),
)
