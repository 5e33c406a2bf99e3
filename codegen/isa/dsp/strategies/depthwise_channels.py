"""depthwise_conv2d by SMLAD, windows of any size: tiles of one or two pixels by four channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from aot.target import Optimize
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.dsp.channels import CHANNELS, PIXELS, ChannelsTile, window
from codegen.isa.dsp.needs import FINDS_WORDS, NEEDS
from codegen.kernels.depthwise_conv2d import (
    ONE_FILTER_EACH,
    Blocks,
    DepthwiseRows,
    blocks_nest,
    blocks_request,
    depthwise_kernel,
    fitted_tail_of,
    op_of,
    tail_of,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.requantised import Requantised, channel_constants
from codegen.kernels.strategy import Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.loops.affine import Affine
from codegen.loops.ir import Proc
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

WORD_BYTES = 4
KNOBS = (Knob("pixels", (1, PIXELS)),)


def _has_byte_pixels(site: Site) -> bool:
    """Returns True for int8 pixels; weights may be wider, as unsigned ones minus their zero point are."""
    return site.input(0).dtype is site.outputs[0].dtype is DType.I8


def blocks_of(site: Site) -> Blocks:
    return Blocks(site.constants[1].shape[2], CHANNELS, CHANNELS)


def _requests(site: Site) -> RowRequests:
    """Requests wide rows if the output has several columns, else int8 rows.

    The rows of a tall window are short, and widened as fast as they are loaded.
    """
    is_wide = site.allow_widened_rows and site.outputs[0].shape[2] > 1
    return (blocks_request(site, blocks_of(site), 2 if is_wide else 1),)


def _space(task: str, site: Site, x: RowFormat, y: RowFormat) -> Space:
    """Returns the space, with two pixels if there are two and a load reaches both."""
    most = PIXELS if y.width > 1 and _tile(site, x, PIXELS, CHANNELS).is_possible else 1

    def is_possible(point: Point) -> bool:
        return point["pixels"] <= most

    extents: Mapping[str, int] = {"pixels": y.width}
    return Space(task, KNOBS, {"pixels": most}, is_possible, extents)


def _proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised, point: Point) -> Proc:
    """Returns the proc. A single pixel's constants are loaded after its sums, or they would be spilled."""
    is_alone = y.width == 1
    proc = blocks_nest(site, blocks_of(site), x, y, tail.storing, is_late=is_alone)
    constants = channel_constants(tail.storing, tail.bias.size, Affine()).names
    proc = reorder(proc if is_alone else privatize(proc, constants, "c"), "c", "column")
    proc = split(proc, "column", point["pixels"], "xb", "xi")
    for var in ("c", "xi"):
        proc = unroll(privatize(proc, ("sum", *constants), var), var)
    for outer in ("c", "xi"):
        for inner in ("r", "t"):
            proc = reorder(proc, outer, inner)
    sizes = blocks_of(site).sizes
    tiles = [_tile(site, x, pixels, n) for pixels in sorted({point["pixels"], 1}) for n in sizes]
    proc = tensorize(proc, "r", [window(tile) for tile in tiles])
    return reorder(proc, "xi", "c")


def _tile(site: Site, x: RowFormat, pixels: int, channels: int) -> ChannelsTile:
    rows, columns, _ = site.constants[1].shape
    op = op_of(site)
    return ChannelsTile(
        pixels=pixels,
        channels=channels,
        rows=rows,
        columns=columns,
        tap_step=op.dilation[1] * x.x_step,
        pixel_step=op.stride[1] * x.x_step,
        x_dtype=storage_dtype(site.input(0), x),
        x_aligned=x.x_step * x.dtype_bytes % WORD_BYTES == 0 or (x.width == 1 and columns == 1),
        is_small=site.optimize is Optimize.SIZE,
        w_dtype=site.input(1).dtype,
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), tail = inputs, fitted_tail_of(site)
    rows, columns, channels = site.constants[1].shape
    name = f"depthwise_conv2d_{rows}x{columns}_{channels}_by_{output.width}"
    space = _space(f"{name} channels", site, x, output)
    point = space.chosen(site.tuned)
    made = DepthwiseRows(
        "smlad",
        f"{point['pixels']} x 4 sums per tile, {x.dtype_bytes * 8}-bit rows",
        _proc(site, x, output, tail, point),
        blocks_of(site).packed(site.constants[1]),
        space,
        point,
    )
    return depthwise_kernel(site, output, tail, made)


STRATEGY = Strategy(
    "smlad",
    _requests,
    _lower,
    NEEDS,
    (
        Condition("data and results of 8 bits", _has_byte_pixels),
        FINDS_WORDS,
        ONE_FILTER_EACH,
        sums_of_32_bits(tail_of),
    ),
)
