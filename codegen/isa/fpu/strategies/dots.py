"""conv2d, dense and recurrent layers of floats in tiles; products and sums are apart where that is faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from codegen.formats import RowFormat
from codegen.isa.fpu.curves import Curves
from codegen.isa.fpu.dots import REGISTERS, FloatDots, FusedDots, float_dots
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.plain.f32 import APART, FUSED
from codegen.kernels.f32_sums import requests_padding, requests_vector
from codegen.kernels.f32_tiles import (
    FITS,
    NEIGHBORING_COLUMNS,
    NOT_IN_FOUR_BITS,
    DotTile,
    Pieces,
    TileSet,
    Tiling,
    WithDots,
    tiled_conv2d,
    tiled_dense,
    with_tiles,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import requests
from codegen.kernels.recurrent_sums import SUMS_FIRST, StepOfGates, has_usual_curves, tiled_steps
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Stmt, load
from codegen.loops.schedule import reorder

_MOST_PIXELS = 6
_KIND_SHARE = 0.02  # of the cycles, which another kind of tile must save, since each has its own code


def _tiling(dots: type[FloatDots], layer: DotTile, width: int) -> Tiling:
    """Returns the tiles of pixels and of channels that need the fewest cycles."""
    channels = layer.results.channels
    tries = [
        Tiling(Pieces(width, p), Pieces(channels, c))
        for p, c in product(range(1, min(_MOST_PIXELS, width) + 1), range(1, min(REGISTERS, channels) + 1))
        if dots(layer.of(p, c)).fits
    ]

    def cost(tiling: Tiling) -> float:
        kinds = len(tiling.pixels.found) * len(tiling.channels.found)
        return tiling.cycles(lambda p, c: dots(layer.of(p, c)).cycles) * (1 + _KIND_SHARE * kinds)

    return min(tries, key=cost)


def _with_dots(dots: type[FloatDots], kernel: Kernel, layer: DotTile, width: int, weights: str) -> Kernel:
    """Returns the kernel with its unscheduled sums as instructions; see `WithDots`."""
    return with_tiles(
        replace(kernel, proc=reorder(kernel.proc, "column", "o")),
        ("o", "column"),
        _tiling(dots, layer, width),
        TileSet("fpu", dots.added, lambda pixels, channels: float_dots(dots(layer.of(pixels, channels)))),
        weights,
    )


def _dots_of(site: Site) -> WithDots:
    return partial(_with_dots, FloatDots if site.target.adds_apart else FusedDots)


def _conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    return tiled_conv2d(_dots_of(site), site, inputs, y)


def _dense(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    return tiled_dense(_dots_of(site), site, inputs, y)


class _StepOfCurves(StepOfGates):
    """A step of an LSTM whose gates are computed without jumps."""

    def loops(self) -> list[tuple[Stmt, ...]]:
        unit = variable("u")
        curves = Curves(APART if self.site.target.adds_apart else FUSED)
        (i, o, f, new), lines = self._sums(("taken", "shown", "kept", "fresh"), range(4), self.hidden)
        cell = load(self.state, self._own(unit) + self.size)
        grown = Apply(curves.sigmoid, (f,)) * cell + Apply(curves.product, (i, new))
        shown = self._result(Apply(curves.product, (o, cell)))
        return [(*lines, *self._grown(cell, grown), shown, *self._given(cell))]


def _steps(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    step = StepOfGates(site, inputs, output)
    if has_usual_curves(step):
        step = _StepOfCurves(site, inputs, output)
    return tiled_steps(_dots_of(site), site, step)


GAINS = Condition[Site](
    "a core that adds faster than it fuses, or begins two instructions at a time",
    lambda site: site.target.adds_apart or site.target.pairs_instructions,
)
CONV2D = Strategy(
    "fpu-dots",
    requests_padding,
    _conv2d,
    NEEDS,
    (GAINS, *FITS, NEIGHBORING_COLUMNS),
)
DENSE = Strategy(
    "fpu-dots",
    requests_vector,
    _dense,
    NEEDS,
    (GAINS, *FITS, NOT_IN_FOUR_BITS),
    reads_image_rows=lambda site: True,
)
RECURRENT = Strategy("fpu-dots", requests, _steps, NEEDS, (GAINS, SUMS_FIRST, *FITS))
