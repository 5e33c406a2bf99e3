"""Layers of floats on Helium: tiles of pixels with a lane per output channel, chosen by cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import partial
from itertools import product

from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS, FOURS, FloatResults
from codegen.isa.helium.f32_sums import (
    MOST_PIXELS,
    MOST_SUMS,
    FloatDepthwise,
    FloatTile,
    float_dots,
    float_taps,
    step_cycles,
    tap_cycles,
    within_reach,
)
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.depthwise_conv2d import ONE_FILTER_EACH, op_of
from codegen.kernels.f32_sums import depthwise_rows, requests_padding, requests_vector
from codegen.kernels.f32_tiles import (
    FITS,
    NEIGHBORING_COLUMNS,
    NOT_IN_FOUR_BITS,
    DotTile,
    Pieces,
    TileSet,
    Tiling,
    tiled_conv2d,
    tiled_dense,
    with_tiles,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import RowRequests, Strategy
from codegen.loops.schedule import reorder

_ROW_CYCLES = 6  # of a row of the window, besides its steps
_TILE_CYCLES = 20  # of a tile, besides its rows and results
_RESULT_CYCLES = 6  # of a vector of results


def with_dots(kernel: Kernel, window: DotTile, width: int, weights: str) -> Kernel:
    """Returns the kernel with its unscheduled sums as instructions; see `WithDots`."""
    results = FloatResults(*astuple(window.results))
    layer = FloatTile(results, window.rows, window.length, window.x_step)
    return with_tiles(
        replace(kernel, proc=reorder(kernel.proc, "column", "o")),
        ("o", "column"),
        _tiling(layer, width),
        TileSet(
            "helium",
            FUSED,
            lambda pixels, channels: float_dots(layer.of(pixels, channels)),
            results.reads_ahead,
        ),
        weights,
    )


def _tiling(layer: FloatTile, width: int) -> Tiling:
    """Returns the tiles of pixels and of channels that need the fewest cycles."""
    channels = layer.results.channels
    tries = [
        Tiling(Pieces(width, p), Pieces(channels, FOURS * v))
        for p, v in product(range(1, MOST_SUMS + 1), repeat=2)
        if p * v <= MOST_SUMS and p <= width and FOURS * (v - 1) < channels and within_reach(p, layer.x_step)
    ]
    return min(tries, key=lambda each: each.cycles(lambda p, c: _cycles(layer.of(p, c))))


def _cycles(tile: FloatTile) -> int:
    row = tile.length * step_cycles(tile.pixels, tile.vectors) + tile.pixels + tile.vectors + _ROW_CYCLES
    return tile.rows * row + tile.pixels * tile.vectors * _RESULT_CYCLES + _TILE_CYCLES


CONV2D = Strategy(
    "helium-f32",
    requests_padding,
    partial(tiled_conv2d, with_dots),
    FLOAT_NEEDS,
    (*FITS, NEIGHBORING_COLUMNS),
)


DENSE = Strategy(
    "helium-f32",
    requests_vector,
    partial(tiled_dense, with_dots),
    FLOAT_NEEDS,
    (*FITS, NOT_IN_FOUR_BITS),
    reads_image_rows=lambda site: True,
)


_DEPTHWISE_TILE_CYCLES = 30  # of a tile, besides its taps and results


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
        _depthwise_tiling(rows * columns, y.width, channels),
        TileSet("helium", FUSED, lambda p, c: float_taps(layer.of(p, c)), results.reads_ahead),
    )


def _depthwise_tiling(taps: int, width: int, channels: int) -> Tiling:
    """Returns the tiles that need the fewest cycles."""

    def cycles(pixels: int, _channels: int) -> int:
        return taps * tap_cycles(pixels) + pixels * _RESULT_CYCLES + _DEPTHWISE_TILE_CYCLES

    sizes = range(1, min(MOST_PIXELS, width) + 1)
    tries = [Tiling(Pieces(width, p), Pieces(channels, FOURS)) for p in sizes]
    return min(tries, key=lambda each: each.cycles(cycles))


DEPTHWISE = Strategy(
    "helium-f32",
    _requests,
    _lower,
    FLOAT_NEEDS,
    (*FITS, ONE_FILTER_EACH),
)
