"""Convolutions by SMLAD with half-words of two weights: tiles of up to 3 pixels by 2 channels."""

from __future__ import annotations

from collections.abc import Callable

from codegen.isa.dsp.paired_tile import UNROLLS, PairedTile, factors_of, paired_dot
from codegen.kernels.dot_product import MOST_PIXELS, DotProblem, ScheduledDot, ends_of, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.paired_rows import pixel_tiles, rows_nest
from codegen.kernels.paired_weights import PAIRED, groups_of, half_words
from codegen.loops.affine import variable
from codegen.loops.ir import Proc
from codegen.loops.pack import pack
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

ROW_KNOBS = (Knob("unroll", UNROLLS, is_written_out=True), Knob("pixels", (1, 2, 3)))
_CHANNELS = 2  # of a tile
_UNROLLED = 4  # groups, where code and time weigh the same
_UNROLLED_HOT = 16  # in layers that take much of the time
_HOT_MACS = 300_000

# Cycles of Cortex-M4 for four products of each sum, by the pixels of a tile of two channels.
_PAIRED_CYCLES = {1: 13, 2: 18, 3: 25}
_WIDENED_CYCLES = {1: 18, 2: 21, 3: 28}  # of rows of 16 bits, the weights widened in registers
_MAKING_CYCLES = {1: 12, 2: 18, 3: 24}  # of a group's factors
_ROW_CYCLES = 8  # to begin products of a kernel row, or to begin making its factors


def saves_cycles(pixels: int, channels: int, kernel_rows: int, groups: int) -> bool:
    """True where products with pairs save more than it takes to make factors, by `groups` in a kernel row."""
    turns = -(-channels // _CHANNELS)
    saved = 0
    for each in pixel_tiles(pixels, MOST_PIXELS):
        of_group = turns * (_WIDENED_CYCLES[each.pixels] - _PAIRED_CYCLES[each.pixels])
        of_row = groups * (of_group - _MAKING_CYCLES[each.pixels]) - _ROW_CYCLES
        saved += each.tiles * (kernel_rows * of_row + turns * (kernel_rows - 1) * _ROW_CYCLES)
    return saved > 0


def paired_rows(site: Site, p: DotProblem) -> ScheduledDot:
    """Rows of pixels, whose factors lie in scratch."""
    space = _space(p, site.macs)
    point = space.chosen(site.tuned)
    proc = split(rows_nest(p, point["pixels"]), "o", _CHANNELS, "ob", "oi")
    proc = privatize(proc, ends_of(p).locals, "oi")
    for inner in ("xb", "xi"):
        proc = reorder(proc, "oi", inner)
    for var in ("oi", "xi"):
        proc = unroll(privatize(proc, ("sum",), var), var)
    for outer in ("oi", "xi"):
        proc = reorder(proc, outer, "n")
    order = ("ob", "ob_tail", "n", "oi", "h")
    proc, packing = pack(proc, "w", order, valid=variable("n"), limit=groups_of(p))
    proc = reorder(_with_instructions(proc, p, point), "xi", "oi")
    why = f"{point['pixels']} x {_CHANNELS} sums per tile, weights in pairs, 8-bit rows"
    return ScheduledDot("smlad", why, proc, packing, space, point, half_words)


def _with_instructions(proc: Proc, p: DotProblem, point: Point) -> Proc:
    counts = range(point["pixels"], 0, -1)
    of_row = groups_of(p) // p.kernel_rows
    makers = [factors_of(pixels, p.x_step, of_row, p.x_aligned) for pixels in counts]
    channels = sorted({min(_CHANNELS, p.channels), p.channels % _CHANNELS or 1}, reverse=True)
    dots = [paired_dot(PairedTile(i, j, groups_of(p), point["unroll"])) for i in counts for j in channels]
    return tensorize(tensorize(proc, "g", makers), "n", dots)


def _space(p: DotProblem, macs: int) -> Space:
    most = _UNROLLED_HOT if macs >= _HOT_MACS else _UNROLLED
    unrolled = max(u for u in UNROLLS if u <= most and groups_of(p) % u == 0)
    default = {"unroll": unrolled, "pixels": min(MOST_PIXELS, p.pixels)}
    extents = {"unroll": groups_of(p), "pixels": p.pixels}
    return Space(f"{task_of(p)} {PAIRED}", ROW_KNOBS, default, _is_possible(p), extents)


def _is_possible(p: DotProblem) -> Callable[[Point], bool]:
    def is_possible(point: Point) -> bool:
        return groups_of(p) % point["unroll"] == 0 and point["pixels"] <= p.pixels

    return is_possible
