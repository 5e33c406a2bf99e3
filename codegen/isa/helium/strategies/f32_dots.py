"""Tiles of float dot products on Helium, chosen by cycles."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import product

from codegen.isa.helium.f32 import FOURS, FloatResults
from codegen.isa.helium.f32_dots import MOST_SUMS, FloatTile, float_dots, step_cycles, within_reach
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.f32_tiles import DotTile, Pieces, TileSet, Tiling, with_tiles
from codegen.kernels.kernel import Kernel
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
