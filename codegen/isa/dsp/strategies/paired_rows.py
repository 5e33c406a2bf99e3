"""Convolutions by SMLAD with halfwords of two weights: tiles of up to 3 pixels by 2 channels."""

from __future__ import annotations

from collections.abc import Callable

from aot.ir.types import Array
from codegen.isa.dsp.needs import UNROLLED_HOT, is_hot
from codegen.isa.dsp.paired_tile import UNROLLS, PairedTile, factors_of, paired_dot, rests_of
from codegen.kernels.dot_product import MOST_PIXELS, DotProblem, ScheduledDot, ends_of, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.paired_rows import (
    SCRATCH_BYTES,
    groups_of_window,
    in_order_of_windows,
    joins_rests,
    pixel_tiles,
    rows_nest,
)
from codegen.kernels.paired_weights import GROUP, PAIRED, half_words
from codegen.loops.affine import variable
from codegen.loops.ir import Proc
from codegen.loops.pack import pack
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

ROW_KNOBS = (Knob("unroll", UNROLLS, is_written_out=True), Knob("pixels", (1, 2, 3)))
_CHANNELS = 2  # of a tile
_UNROLLED = 4  # groups, if code and time are equally important
_TENSORS_OF_SCRATCH = 4  # a layer's tensors are at least this many times larger than its factors

# Cortex-M4 cycles for four products of each sum, by the pixels of a tile of two channels.
_PAIRED_CYCLES = {1: 13, 2: 18, 3: 25}
# The same for 16-bit rows, with weights widened in registers; a single pixel has four channels.
_WIDENED_CYCLES = {1: 13, 2: 21, 3: 28}
_MAKING_CYCLES = {1: 12, 2: 18, 3: 24}  # for a group's factors
_ROW_CYCLES = 8  # to begin the products or the factors of a kernel row


def saves_cycles(pixels: int, channels: int, kernel_rows: int, length: int) -> bool:
    """Returns True if paired products save more cycles than their factors cost.

    `length` is the number of values in each kernel row.
    """
    turns, widened = -(-channels // _CHANNELS), kernel_rows * -(-length // GROUP)
    groups = groups_of_window(kernel_rows, length)
    saved = 0
    for each in pixel_tiles(pixels, MOST_PIXELS):
        products = widened * _WIDENED_CYCLES[each.pixels] - groups * _PAIRED_CYCLES[each.pixels]
        making = groups * _MAKING_CYCLES[each.pixels] + kernel_rows * _ROW_CYCLES
        saved += each.tiles * (turns * (products + (kernel_rows - 1) * _ROW_CYCLES) - making)
    return saved > 0


def paired_rows(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for rows of pixels, with factors in scratch."""
    space = _space(p, site.macs)
    point = space.chosen(site.tuned)
    proc = split(rows_nest(p, point["pixels"], scratch_limit(site)), "o", _CHANNELS, "ob", "oi")
    proc = privatize(proc, ends_of(p).locals, "oi")
    for inner in ("xb", "xi"):
        proc = reorder(proc, "oi", inner)
    for var in ("oi", "xi"):
        proc = unroll(privatize(proc, ("sum",), var), var)
    for outer in ("oi", "xi"):
        proc = reorder(proc, outer, "n")
    order = ("ob", "ob_tail", "n", "oi", "h")
    proc, packing = pack(proc, "w", order, valid=variable("n"), limit=_groups(p))
    proc = reorder(_with_instructions(proc, p, point), "xi", "oi")
    why = f"{point['pixels']} x {_CHANNELS} sums per tile, weights in pairs, 8-bit rows"
    return ScheduledDot("smlad", why, proc, packing, space, point, _stored)


def scratch_limit(site: Site) -> int:
    """Returns the bytes for factors of more than a tile: a share of small tensors."""
    tensors = (site.input(0), site.outputs[0])
    return min(SCRATCH_BYTES, sum(t.bytes for t in tensors) // _TENSORS_OF_SCRATCH)


def _stored(weights: Array) -> Array:
    return half_words(in_order_of_windows(weights))


def _groups(p: DotProblem) -> int:
    return groups_of_window(p.kernel_rows, p.length)


def _with_instructions(proc: Proc, p: DotProblem, point: Point) -> Proc:
    counts = range(point["pixels"], 0, -1)
    joined = joins_rests(p.kernel_rows, p.length)
    of_row = (p.length if joined else p.length + GROUP - 1) // GROUP
    makers = [factors_of(pixels, p.x_step, of_row, p.x_aligned) for pixels in counts]
    if joined:
        rests = [rests_of(pixels, p.x_step, p.kernel_rows, p.length % GROUP) for pixels in counts]
        proc = tensorize(proc, "fj", rests)
    channels = sorted({min(_CHANNELS, p.channels), p.channels % _CHANNELS or 1}, reverse=True)
    dots = [paired_dot(PairedTile(i, j, _groups(p), point["unroll"])) for i in counts for j in channels]
    return tensorize(tensorize(proc, "g", makers), "n", dots)


def _space(p: DotProblem, macs: int) -> Space:
    most = UNROLLED_HOT if is_hot(macs) else _UNROLLED
    unrolled = max(u for u in UNROLLS if u <= most and _groups(p) % u == 0)
    default = {"unroll": unrolled, "pixels": min(MOST_PIXELS, p.pixels)}
    extents = {"unroll": _groups(p), "pixels": p.pixels}
    return Space(f"{task_of(p)} {PAIRED}", ROW_KNOBS, default, _is_possible(p), extents)


def _is_possible(p: DotProblem) -> Callable[[Point], bool]:
    def is_possible(point: Point) -> bool:
        return _groups(p) % point["unroll"] == 0 and point["pixels"] <= p.pixels

    return is_possible
