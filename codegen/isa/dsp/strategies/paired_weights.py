"""Dot products by SMLAD with halfwords of two weights: rows of pixels, or an int8 vector by six channels.

Rows have tiles of up to 4 pixels by 2 channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aot.ir.types import Array, DType
from aot.target import Optimize
from codegen.isa.dsp.dot_tile import UNROLLS
from codegen.isa.dsp.needs import UNROLLED_HOT, is_hot
from codegen.isa.dsp.paired_tile import ROW_UNROLLS, paired_row
from codegen.isa.dsp.paired_vector import PairedVector, factors_of, rests_of, vector_dot
from codegen.kernels.dot_product import MOST_PIXELS, DotProblem, ScheduledDot, in_blocks, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.paired_rows import (
    CHANNELS,
    SCRATCH_BYTES,
    groups_of_window,
    in_order_of_windows,
    joins_rests,
    pixel_tiles,
    records,
    result_rows,
    rows_nest,
)
from codegen.kernels.paired_weights import GROUP, PAIRED, groups_of, half_words, pairs_fit, vector_nest
from codegen.kernels.requantised import Requantised, channel_constants
from codegen.loops.affine import variable
from codegen.loops.ir import Proc
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import privatize, reorder, unroll
from codegen.loops.tensorize import tensorize

ROW_KNOBS = (Knob("unroll", ROW_UNROLLS, is_written_out=True), Knob("pixels", (1, 2, 3, 4)))
_UNROLLED = 4  # groups, if code and time are equally important
_TENSORS_OF_SCRATCH = 4  # a layer's tensors are at least this many times larger than its factors

# Cortex-M4 cycles for four products of each sum, by the pixels of a tile of two channels.
_PAIRED_CYCLES = {1: 11, 2: 18, 3: 25, 4: 32}
# The same for 16-bit rows, with weights widened in registers; a single pixel has four channels.
_WIDENED_CYCLES = {1: 13, 2: 21, 3: 28}
_MAKING_CYCLES = {1: 12, 2: 18, 3: 24, 4: 30}  # for a group's factors
_ROW_CYCLES = 8  # to begin the products or the factors of a kernel row
# To begin a tile and to end it, and for each of its pixels.
_PAIRED_ENDS, _WIDENED_ENDS = (21, 6), (25, 8)


def saves_cycles(pixels: int, channels: int, kernel_rows: int, length: int) -> bool:
    """Returns True if paired products save more cycles than their factors cost.

    `length` is the number of values in each kernel row.
    """
    turns, widened = -(-channels // CHANNELS), kernel_rows * -(-length // GROUP)
    groups = groups_of_window(kernel_rows, length)
    of_widened = _cycles(pixels, MOST_PIXELS, widened, _WIDENED_CYCLES, _WIDENED_ENDS)
    most = _most_pixels(pixels, groups)
    tiles = pixel_tiles(pixels, most)
    making = sum(t.tiles * (groups * _MAKING_CYCLES[t.pixels] + kernel_rows * _ROW_CYCLES) for t in tiles)
    more_rows = sum(t.tiles for t in pixel_tiles(pixels, MOST_PIXELS)) * (kernel_rows - 1) * _ROW_CYCLES
    of_paired = _cycles(pixels, most, groups, _PAIRED_CYCLES, _PAIRED_ENDS)
    return turns * (of_widened + more_rows - of_paired) > making


def _cycles(pixels: int, most: int, groups: int, of_group: Mapping[int, int], ends: tuple[int, int]) -> int:
    """Returns the cycles of a row by two channels."""
    tiles = pixel_tiles(pixels, most)
    return sum(t.tiles * (groups * of_group[t.pixels] + ends[0] + ends[1] * t.pixels) for t in tiles)


def _most_pixels(pixels: int, groups: int) -> int:
    """Returns the pixels of the largest tile of the fastest row."""
    every = range(1, min(len(_PAIRED_CYCLES), pixels) + 1)
    return min(every, key=lambda most: _cycles(pixels, most, groups, _PAIRED_CYCLES, _PAIRED_ENDS))


def paired_rows(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for rows of pixels, with factors in scratch."""
    space = _space(p, site.macs)
    point = space.chosen(site.tuned)
    scratch = scratch_limit(site)
    proc = _with_instructions(rows_nest(p, point["pixels"], scratch), p, point, scratch)
    why = f"{point['pixels']} x {CHANNELS} results per tile, weights in pairs, 8-bit rows"

    def stored(weights: Array) -> Array:
        return records(p, half_words(in_order_of_windows(weights)))

    return ScheduledDot("smlad", why, proc, None, space, point, stored)


def scratch_limit(site: Site) -> int:
    """Returns the bytes for factors of more than a tile: a share of small tensors."""
    tensors = (site.input(0), site.outputs[0])
    return min(SCRATCH_BYTES, sum(t.bytes for t in tensors) // _TENSORS_OF_SCRATCH)


def _groups(p: DotProblem) -> int:
    return groups_of_window(p.kernel_rows, p.length)


def _with_instructions(proc: Proc, p: DotProblem, point: Point, scratch: int) -> Proc:
    counts = range(point["pixels"], 0, -1)
    joined = joins_rests(p.kernel_rows, p.length)
    of_row = (p.length if joined else p.length + GROUP - 1) // GROUP
    makers = [factors_of(pixels, p.x_step, of_row, p.x_aligned) for pixels in counts]
    if joined:
        rests = [rests_of(pixels, p.x_step, p.kernel_rows, p.length % GROUP) for pixels in counts]
        proc = tensorize(proc, "fj", rests)
    rows = result_rows(p, point["pixels"], scratch)
    return tensorize(tensorize(proc, "g", makers), "xb", [paired_row(row, point["unroll"]) for row in rows])


def _space(p: DotProblem, macs: int) -> Space:
    most = UNROLLED_HOT if is_hot(macs) else _UNROLLED
    unrolled = max(u for u in ROW_UNROLLS if u <= most and _groups(p) % u == 0)
    default = {"unroll": unrolled, "pixels": _most_pixels(p.pixels, _groups(p))}
    extents = {"unroll": _groups(p), "pixels": p.pixels}
    return Space(f"{task_of(p)} {PAIRED}", ROW_KNOBS, default, _is_possible(p), extents)


def _is_possible(p: DotProblem) -> Callable[[Point], bool]:
    def is_possible(point: Point) -> bool:
        return _groups(p) % point["unroll"] == 0 and point["pixels"] <= p.pixels

    return is_possible


VECTOR_KNOBS = (Knob("unroll", UNROLLS, is_written_out=True), Knob("channels", (3, 4, 5, 6)))
_UNROLLED_OF_VECTOR = 8  # groups
_MOST_CHANNELS = 6


def can_pair(site: Site, tail: Requantised, weights: Array) -> bool:
    """Returns True if an int8 layer's weights and sums permit pairs, on a single-issue core."""
    bytes_only = site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8
    return (
        bytes_only
        and site.optimize is not Optimize.SIZE
        and not site.target.pairs_instructions
        and tail.requant.sum_dtype is DType.I32
        and pairs_fit(weights, tail.bias)
    )


def paired_vector(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for a vector, as in a dense layer."""
    space = _vector_space(p)
    point = space.chosen(site.tuned)
    channels = min(p.channels, point["channels"])
    proc = in_blocks(vector_nest(p), p.channels, channels)
    proc = unroll(privatize(proc, (*_constants(p), "sum"), "oi"), "oi")
    proc, packing = _packed(reorder(proc, "oi", "n"), p)
    counts = {channels, p.channels % channels or channels}
    tiles = [PairedVector(j, groups_of(p), point["unroll"], p.x_aligned) for j in sorted(counts)]
    proc = tensorize(proc, "n", [vector_dot(tile) for tile in tiles])
    why = f"{channels} sums per tile, weights in pairs, 8-bit input"
    return ScheduledDot("smlad", why, proc, packing, space, point, half_words)


def _constants(p: DotProblem) -> tuple[str, ...]:
    """Returns the locals that hold a channel's constants."""
    assert p.tail is not None
    return channel_constants(p.tail.storing, p.channels, variable("o")).names


def _packed(proc: Proc, p: DotProblem) -> tuple[Proc, Packing]:
    order = ("ob", "ob_tail", "ob_rest", "n", "oi", "h")
    return pack(proc, "w", order, valid=variable("n"), limit=groups_of(p))


def _vector_space(p: DotProblem) -> Space:
    default = {"unroll": _unroll(p, _UNROLLED_OF_VECTOR), "channels": _MOST_CHANNELS}
    extents = {"unroll": groups_of(p), "channels": p.channels}

    def is_possible(point: Point) -> bool:
        return groups_of(p) % point["unroll"] == 0

    return Space(f"{task_of(p)} {PAIRED}", VECTOR_KNOBS, default, is_possible, extents)


def _unroll(p: DotProblem, most: int) -> int:
    return max(u for u in UNROLLS if u <= most and groups_of(p) % u == 0)
