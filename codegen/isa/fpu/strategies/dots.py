"""conv2d, dense and recurrent layers of floats in tiles, where products and sums apart are faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from codegen.formats import RowFormat
from codegen.isa.fpu.dots import REGISTERS, FloatDots, float_dots
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.plain.f32 import APART
from codegen.kernels.f32_sums import requests_padding, requests_vector
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
from codegen.kernels.recurrent import requests
from codegen.kernels.recurrent_sums import SUMS_FIRST, StepOfGates, tiled_steps
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.schedule import reorder

_MOST_PIXELS = 6
_KIND_SHARE = 0.02  # of the cycles, which another kind of tile must save, since each has its own code


def _tiling(layer: DotTile, width: int) -> Tiling:
    """Returns the tiles of pixels and of channels that need the fewest cycles."""
    channels = layer.results.channels
    tries = [
        Tiling(Pieces(width, p), Pieces(channels, c))
        for p, c in product(range(1, min(_MOST_PIXELS, width) + 1), range(1, min(REGISTERS, channels) + 1))
        if FloatDots(layer.of(p, c)).fits
    ]

    def cost(tiling: Tiling) -> float:
        kinds = len(tiling.pixels.found) * len(tiling.channels.found)
        return tiling.cycles(lambda p, c: FloatDots(layer.of(p, c)).cycles) * (1 + _KIND_SHARE * kinds)

    return min(tries, key=cost)


def with_dots(kernel: Kernel, layer: DotTile, width: int, weights: str) -> Kernel:
    """Returns the kernel with its unscheduled sums as instructions; see `WithDots`."""
    return with_tiles(
        replace(kernel, proc=reorder(kernel.proc, "column", "o")),
        ("o", "column"),
        _tiling(layer, width),
        TileSet("fpu", APART, lambda pixels, channels: float_dots(layer.of(pixels, channels))),
        weights,
    )


def _steps(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return tiled_steps(with_dots, site, StepOfGates(site, inputs, output))


ADDS_APART = Condition[Site]("a core that adds faster than it fuses", lambda site: site.target.adds_apart)
CONV2D = Strategy(
    "fpu-dots",
    requests_padding,
    partial(tiled_conv2d, with_dots),
    NEEDS,
    (ADDS_APART, *FITS, NEIGHBORING_COLUMNS),
)
DENSE = Strategy(
    "fpu-dots",
    requests_vector,
    partial(tiled_dense, with_dots),
    NEEDS,
    (ADDS_APART, *FITS, NOT_IN_FOUR_BITS),
    reads_image_rows=lambda site: True,
)
RECURRENT = Strategy("fpu-dots", requests, _steps, NEEDS, (ADDS_APART, SUMS_FIRST, *FITS))
