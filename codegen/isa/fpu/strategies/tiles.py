"""conv2d and depthwise_conv2d with an FPU: tiles with as many sums as fit into its 32 registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ops.conv2d import Conv2d
from codegen.formats import RowFormat
from codegen.isa.fpu.needs import NEEDS
from codegen.kernels.f32_sums import conv2d_rows, depthwise_rows, requests_padding
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import Point
from codegen.kernels.strategy import F32_INPUTS, NOT_FOR_SIZE, Strategy

CHANNELS = 4  # of a tile of a convolution
_MOST_PIXELS = 4
_MOST_ALONG = 6  # pixels of one channel
_MOST_TAPS = 9  # unrolled
_MOST_TURNS = 4  # unrolled iterations of a dot product


def dot_tile(width: int, channels: int, length: int) -> Point:
    """Returns a tile that loads each input once for its channels, and each weight once for its pixels."""
    turns = next(n for n in range(_MOST_TURNS, 0, -1) if length % n == 0)
    return {"column": pixels_of(width, _MOST_PIXELS), "o": min(CHANNELS, channels), "turns": turns}


def depthwise_tile(width: int, rows: int, columns: int) -> Point:
    """Returns a tile of neighboring pixels of a channel, which share weights and parts of their windows."""
    taps = rows * columns
    turns = taps if taps <= _MOST_TAPS else columns
    return {"column": pixels_of(width, _MOST_ALONG), "turns": turns}


def pixels_of(width: int, most: int) -> int:
    """Returns the smallest tile width with the fewest tiles, including those of the remainder."""
    return min(range(1, min(width, most) + 1), key=lambda n: (width // n + width % n, n))


def _conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    channels, _, columns, depth = site.constants[1].shape
    kernel = conv2d_rows(site, inputs, y)
    op = site.op_as(Conv2d)
    tile = dot_tile(y.width, channels, depth if op.dilation[1] > 1 else columns * depth)
    return replace(kernel, sketch=tile, why=f"{tile['column']} pixels x {tile['o']} channels at a time")


CONV2D = Strategy("fpu", requests_padding, _conv2d, NEEDS, (F32_INPUTS, NOT_FOR_SIZE))


def _depthwise(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    rows, columns, _ = site.constants[1].shape
    kernel = depthwise_rows(site, inputs, y, ("c", "m", "column"))
    return replace(kernel, sketch=depthwise_tile(y.width, rows, columns))


DEPTHWISE = Strategy("fpu", requests_padding, _depthwise, NEEDS, (F32_INPUTS, NOT_FOR_SIZE))
