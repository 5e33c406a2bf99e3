"""Dot products by SMLAD with halfwords of four weights: two pixels by four channels, or one by eight."""

from __future__ import annotations

from aot.ir.types import DType
from aot.target import Optimize
from codegen.isa.dsp.four_bit_tile import FourBitTile, four_bit_dot, widened
from codegen.isa.dsp.needs import UNROLLED_HOT, is_hot
from codegen.isa.dsp.strategies.paired_weights import scratch_limit
from codegen.kernels.dot_product import DotProblem, ScheduledDot, task_of
from codegen.kernels.four_bit_weights import (
    CHANNELS,
    FOUR_BITS,
    SumTile,
    WindowOfPairs,
    bytes_of_pixel,
    channel_tiles,
    four_bit_nest,
    half_words,
    tail_of_digits,
    window_of,
)
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Space
from codegen.kernels.requantised import Requantised
from codegen.loops.tensorize import tensorize

_KNOBS = (Knob("unroll", (1, 2, 3, 4, 6, 8, 12, 16), is_written_out=True),)
_ROWS, _VECTOR = SumTile(2, 1), SumTile(1, 2)
_UNROLLED = 8  # pairs, if code and time are equally important
_UNROLLED_REST = 4  # for the remainder of tiles
_LEAST_VALUES = 32  # of a window; shorter sums are faster with 8-bit weights


def four_bit_tail(site: Site, tail: Requantised, window: WindowOfPairs) -> Requantised | None:
    """Returns the tail of an int8 layer if its weights and sums permit it, on single-issue cores."""
    bytes_only = site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8
    is_wanted = (
        bytes_only
        and site.optimize is not Optimize.RAM  # 16-bit values in scratch need more RAM than int8 rows
        and (site.optimize is Optimize.SIZE or window.kernel_rows * window.length >= _LEAST_VALUES)
        and not site.target.pairs_instructions
    )
    return tail_of_digits(tail, site.constants[1], window) if is_wanted else None


def four_bit_dots(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for rows of pixels or a vector, with values in scratch."""
    window, tile = window_of(p), _VECTOR if p.pixels == 1 else _ROWS
    space = _space(p, site.optimize, site.macs)
    point = space.chosen(site.tuned)
    proc = four_bit_nest(p, tile, max(scratch_limit(site), bytes_of_pixel(window)))
    pixels = range(tile.pixels, 0, -1)
    proc = tensorize(proc, "fi", [widened(i, p.x_step, window, p.x_aligned) for i in pixels])
    words = {part.words for part in channel_tiles(p.channels, tile.words)}
    shapes = [SumTile(i, q) for i in pixels for q in sorted(words)]
    dots = [
        four_bit_dot(FourBitTile(shape, window, _unroll(shape, tile, point["unroll"]))) for shape in shapes
    ]
    why = f"{tile.pixels} x {tile.words * CHANNELS} sums per tile, weights of four bits, 8-bit rows"
    return ScheduledDot(
        "smlad",
        why,
        tensorize(proc, "n", dots),
        space=space,
        point=point,
        elements=lambda weights: half_words(weights, window, tile.words),
    )


def _unroll(shape: SumTile, whole: SumTile, unroll: int) -> int:
    return unroll if shape == whole else min(unroll, _UNROLLED_REST)


def _space(p: DotProblem, goal: Optimize, macs: int) -> Space:
    unrolled = 1 if goal is Optimize.SIZE else UNROLLED_HOT if is_hot(macs) else _UNROLLED
    extents = {"unroll": window_of(p).pairs}
    return Space(f"{task_of(p)} {FOUR_BITS}", _KNOBS, {"unroll": unrolled}, extents=extents)
