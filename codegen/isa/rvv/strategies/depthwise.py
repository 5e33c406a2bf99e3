"""depthwise_conv2d on RISC-V vectors: up to 32 channels of a row of pixels at a time."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.formats import RowFormat
from codegen.isa.plain.requantise import exact_store
from codegen.isa.rvv import NEEDS
from codegen.isa.rvv.requantise import MOST_CHANNELS
from codegen.isa.rvv.row_block import RowBlock, depthwise_channels
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
from codegen.kernels.strategy import BYTES, RowRequests, Strategy, requantised_in_lanes_or_to_even
from codegen.loops.ir import Proc
from codegen.loops.tensorize import tensorize


def _blocks_of(site: Site) -> Blocks:
    return Blocks(site.constants[1].shape[2], MOST_CHANNELS, lanes=1)


def _proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, _ = site.constants[1].shape
    stride, dilation = op_of(site).stride[1], op_of(site).dilation[1]
    proc = blocks_nest(site, _blocks_of(site), x, y, exact_store(tail.requant))
    blocks = [
        RowBlock(size, rows, columns, dilation * x.x_step, y.width, stride * x.x_step, y.x_step, y.c_step)
        for size in _blocks_of(site).sizes
    ]
    return tensorize(proc, "c", [depthwise_channels(block, tail.requant) for block in blocks])


def _requests(site: Site) -> RowRequests:
    return (blocks_request(site, _blocks_of(site), 1),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail = tail_of(site)
    proc, weights = _proc(site, inputs[0], output, tail), _blocks_of(site).packed(site.constants[1])
    made = DepthwiseRows("rvv", "channels side by side", proc, weights)
    return depthwise_kernel(site, output, tail, made)


STRATEGY = Strategy(
    "rvv",
    _requests,
    _lower,
    NEEDS,
    (
        BYTES,
        ONE_FILTER_EACH,
        requantised_in_lanes_or_to_even(tail_of),
    ),
)
