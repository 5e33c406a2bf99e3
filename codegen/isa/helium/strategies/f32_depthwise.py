"""depthwise_conv2d of floats on Helium: neighboring pixels, with a lane per channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS, FOURS, FloatResults
from codegen.isa.helium.f32_depthwise import MOST_PIXELS, FloatDepthwise, float_taps, tap_cycles
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.depthwise_conv2d import ONE_FILTER_EACH, op_of
from codegen.kernels.f32_sums import depthwise_rows, requests_padding
from codegen.kernels.f32_tiles import FITS, Pieces, TileSet, Tiling, with_tiles
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import RowRequests, Strategy

_TILE_CYCLES = 30  # of a tile, besides its taps and results
_RESULT_CYCLES = 6  # of a vector of results


def _requests(site: Site) -> RowRequests:
    """Requests rows of pixels. The last vector of a pixel may read past it."""
    (request,) = requests_padding(site)
    assert request is not None
    return (replace(request, slack=-site.constants[1].shape[2] % FOURS),)


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    (x,), op = inputs, op_of(site)
    rows, columns, channels = site.constants[1].shape
    results = FloatResults(1, channels, y.x_step, y.c_step, site.constants.get(2) is not None, op.activation)
    layer = FloatDepthwise(results, rows, columns, op.dilation[1] * x.x_step, op.stride[1] * x.x_step)
    return with_tiles(
        depthwise_rows(site, inputs, y, ("c", "m", "column")),
        ("c", "m", "column"),
        _tiling(rows * columns, y.width, channels),
        TileSet("helium", FUSED, lambda p, c: float_taps(layer.of(p, c)), results.reads_ahead),
    )


def _tiling(taps: int, width: int, channels: int) -> Tiling:
    """Returns the tiles that need the fewest cycles."""

    def cycles(pixels: int, _channels: int) -> int:
        return taps * tap_cycles(pixels) + pixels * _RESULT_CYCLES + _TILE_CYCLES

    sizes = range(1, min(MOST_PIXELS, width) + 1)
    tries = [Tiling(Pieces(width, p), Pieces(channels, FOURS)) for p in sizes]
    return min(tries, key=lambda each: each.cycles(cycles))


STRATEGY = Strategy(
    "helium-f32",
    _requests,
    _lower,
    FLOAT_NEEDS,
    (*FITS, ONE_FILTER_EACH),
)
