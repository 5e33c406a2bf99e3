"""conv2d and dense layers on RISC-V vectors: blocks of up to 32 channels, one per lane."""

from __future__ import annotations

from dataclasses import replace

from codegen.isa.plain.requantise import exact_store
from codegen.isa.rvv import NEEDS
from codegen.isa.rvv.requantise import MOST_CHANNELS
from codegen.isa.rvv.row_block import RowBlock, dot_channels
from codegen.kernels.conv2d import conv2d_strategy
from codegen.kernels.conv_site import conv_tail
from codegen.kernels.dense import dense_strategy, dense_tail
from codegen.kernels.dot_product import (
    DotProblem,
    ScheduledDot,
    Tile,
    in_blocks,
    in_stored_rows,
    nest,
    plain_dot,
)
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import BYTES, requantised_in_lanes_or_to_even
from codegen.loops.affine import variable
from codegen.loops.pack import pack
from codegen.loops.tensorize import tensorize


def vector_dot(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy. Layers that accumulate to sums in memory are computed without vectors."""
    if p.tail is None:
        return plain_dot(Tile(2, 2))(site, p)
    requant = p.tail.requant
    exact = replace(p, tail=replace(p.tail, storing=exact_store(requant)))
    proc = in_blocks(nest(exact, p.w_dtype), p.channels, MOST_CHANNELS)
    order = ("ob", "ob_rest", "r", "t", "k", "oi")
    proc, packing = pack(proc, "w", order, valid=variable("oi"), limit=MOST_CHANNELS)
    blocks = [dot_channels(_block(p, size), p.length, requant) for size in _sizes(p.channels)]
    why = f"{min(p.channels, MOST_CHANNELS)} channels side by side"
    return ScheduledDot("rvv", why, tensorize(proc, "oi", blocks), packing)


def _block(p: DotProblem, channels: int) -> RowBlock:
    return RowBlock(
        channels,
        p.kernel_rows,
        p.taps,
        p.tap_step,
        p.pixels,
        p.x_step,
        p.y_pixel_step,
        p.y_channel_step,
    )


def _sizes(channels: int) -> list[int]:
    return [size for size in (min(channels, MOST_CHANNELS), channels % MOST_CHANNELS) if size]


CONV2D = conv2d_strategy(
    "rvv", in_stored_rows(vector_dot, conv_tail), NEEDS, (BYTES, requantised_in_lanes_or_to_even(conv_tail))
)
DENSE = dense_strategy(
    "rvv", in_stored_rows(vector_dot, dense_tail), NEEDS, (BYTES, requantised_in_lanes_or_to_even(dense_tail))
)
