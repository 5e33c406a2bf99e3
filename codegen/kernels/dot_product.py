"""Dot products over rows: the nest that convolutions and dense layers share, and its schedules.

    for o in channels: for x in pixels:
        sum = start[o]
        for r in kernel rows: for t in taps: for k in length:
            sum += x_row[r][x * step + t * tap_step + k] * w[o][r][t][k]
        y[x][o] = requantised(sum)

In rows of pixels the kernel's columns and channels are contiguous: one tap, and k runs over both.
Only a dilated kernel has a tap for each column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aot.ir.types import DType
from aot.target import Optimize
from codegen.instr.dot_tile import LDRD_OFFSET_LIMIT, DotTile
from codegen.instr.dsp import dot
from codegen.instr.dsp_rows import dot_rows
from codegen.instr.requantise import ToInt8
from codegen.kernels.requantised import channel_constants
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Declare,
    Expr,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import pad_reduction, partition, privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

GROUP = 4  # products per group of the DSP instruction
_MOST_PIXELS = 3
_UNROLLED = 4  # groups, where code and time weigh the same
_UNROLLED_HOT = 16  # in layers that take much of the time
_HOT_MACS = 300_000


@dataclass(frozen=True, slots=True)
class DotProblem:
    """The shape of a row kernel made of dot products, and where its elements lie."""

    name: str
    pixels: int
    channels: int
    kernel_rows: int
    taps: int
    tap_step: int
    length: int  # contiguous elements of a tap
    x_dtype: DType
    x_elements: int
    x_first: int  # element of the row that pixel 0's window begins at
    x_step: int  # elements from one output pixel's window to the next
    y_dtype: DType
    y_elements: int
    y_first: int
    y_pixel_step: int
    y_channel_step: int
    to_int8: ToInt8 | None  # None: sums are added to 32-bit sums in memory

    @property
    def x_aligned(self) -> bool:
        """Every window begins at a multiple of four bytes."""
        per_word = 4 // self.x_dtype.bytes
        steps = (self.x_first, self.x_step, self.x_elements, self.tap_step if self.taps > 1 else 0)
        return all(step % per_word == 0 for step in steps)


@dataclass(frozen=True, slots=True)
class Tile:
    """Knobs: how many pixels and channels a register tile holds, how often its inner loop is unrolled."""

    pixels: int
    channels: int
    unroll: int = 1


@dataclass(frozen=True, slots=True)
class ScheduledDot:
    proc: Proc
    packing: Packing | None  # how the weights [channel][kernel row][k] are stored; None: as they are


def nest(p: DotProblem) -> Proc:
    """The loop nest before any schedule."""
    x = Buffer("x", p.x_dtype, p.x_elements, Role.ROWS, p.kernel_rows)
    depth = p.kernel_rows * p.taps * p.length
    w = Buffer("w", DType.I8, p.channels * depth, Role.CONSTANT)
    total = Buffer("sum", DType.I32, 1, Role.LOCAL)
    o, column, row, tap, k = (variable(v) for v in ("o", "column", "r", "t", "k"))
    window = column * p.x_step + tap * p.tap_step + k + p.x_first
    weight = o * depth + row * (p.taps * p.length) + tap * p.length + k
    product = Binary("*", load(x, window, row), load(w, weight))
    ends = _ends(p)
    place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
    body = (
        Declare(total),
        Store(at(total), ends.start or load(ends.result, place)),
        For(
            "r", p.kernel_rows, (For("t", p.taps, (For("k", p.length, (Accumulate(at(total), product),)),)),)
        ),
        Store(at(ends.result, place), ends.stored(load(total))),
    )
    pixels = For("column", p.pixels, body)
    return Proc(p.name, (x, ends.result, w, *ends.tables), (For("o", p.channels, (*ends.loads, pixels)),))


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where sums begin and what becomes of them."""

    result: Buffer
    tables: tuple[Buffer, ...]
    loads: tuple[Stmt, ...]
    locals: tuple[str, ...]
    start: Expr | None  # None: from the result itself
    stored: Callable[[Expr], Expr]


def _ends(p: DotProblem) -> _Ends:
    if p.to_int8 is None:
        sums = Buffer("sums", DType.I32, p.y_elements, Role.STATE)
        return _Ends(sums, (), (), (), None, lambda total: total)
    channel = channel_constants(p.to_int8, p.channels, variable("o"))
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    return _Ends(y, channel.tables, channel.loads, channel.names, channel.start, channel.stored)


def schedule_plain(p: DotProblem, tile: Tile) -> ScheduledDot:
    """For cores without SIMD: a small register tile, so that each load serves two products."""
    proc = _tiled(nest(p), p, tile)
    for outer in ("oi", "xi"):
        for inner in ("r", "t", "k"):
            proc = reorder(proc, outer, inner)
    return ScheduledDot(proc, packing=None)


def schedule_dsp(p: DotProblem, tile: Tile) -> ScheduledDot:
    """Groups of four products by SMLAD; the weights in the order in which the groups want them."""
    proc = pad_reduction(nest(p), "k", GROUP, zeros="w")
    groups = -(-p.length // GROUP)
    proc = split(proc, "k", GROUP, "group", "k4")
    widened = p.x_dtype is DType.I16
    if widened:
        proc = split(proc, "k4", 2, "high", "low")
    proc = _tiled(proc, p, tile)
    proc = _groups_outermost(proc)
    within = ("low", "high") if widened else ("k4",)
    steps = variable("group") * GROUP
    steps = steps + (variable("high") * 2 + variable("low") if widened else variable("k4"))
    order = ("ob", "ob_tail", "r", "t", "group", "oi", *within)
    proc, packing = pack(proc, "w", order, valid=steps, limit=p.length)
    shapes = [(i, j) for i in sorted({*_pixel_counts(p, tile), 1}) for j in (tile.channels, 1)]
    tiles = [DotTile(i, j, groups, p.x_step, p.x_dtype, p.x_aligned, tile.unroll) for i, j in shapes]
    if p.kernel_rows > 1 == p.taps and p.kernel_rows * groups <= tile.unroll:
        return ScheduledDot(tensorize(proc, "r", [dot_rows(t, p.kernel_rows) for t in tiles]), packing)
    return ScheduledDot(tensorize(proc, "group", [dot(t) for t in tiles]), packing)


def task_of(p: DotProblem) -> str:
    """What tuning records call the kernel."""
    return f"{p.name} {p.x_dtype.value}"


def chosen_tile(p: DotProblem, goal: Optimize, macs: int, tuned: Mapping[str, Tile]) -> tuple[Tile, str]:
    """The tile and why: measured where there is a record that is possible here, else the default."""
    tile = tuned.get(task_of(p))
    if tile is not None and _is_possible(p, tile):
        return tile, f"tuned: {tile.pixels} x {tile.channels} sums, {tile.unroll} groups"
    tile = dsp_tile(p, goal, macs)
    return tile, f"{tile.pixels} x {tile.channels} sums per tile"


def _is_possible(p: DotProblem, tile: Tile) -> bool:
    """Whether registers suffice and the farthest pixel is within reach."""
    reach = (tile.pixels - 1) * p.x_step * p.x_dtype.bytes
    most_channels = 4 if tile.pixels == 1 else 2
    return (
        tile.pixels <= min(_MOST_PIXELS, p.pixels)
        and tile.channels <= min(most_channels, p.channels)
        and reach <= LDRD_OFFSET_LIMIT
    )


def dsp_tile(p: DotProblem, goal: Optimize, macs: int) -> Tile:
    """Three pixels by two channels take every register; a lone pixel, or one far from the next, four.

    `macs` of the whole layer say whether unrolling it further is worth the code.
    """
    small = goal is Optimize.SIZE
    unroll = 1 if small else _UNROLLED_HOT if macs >= _HOT_MACS else _UNROLLED
    reach = p.x_step * p.x_dtype.bytes
    near = 1 + (LDRD_OFFSET_LIMIT // reach if reach else 0)
    if p.pixels == 1 or near == 1:
        return Tile(1, min(4, p.channels), unroll)
    most = 2 if small else _MOST_PIXELS
    alone = small and p.channels % 2 != 0  # a tail of one channel would double the code
    return Tile(min(most, near, p.pixels), 1 if alone else min(2, p.channels), unroll)


def _pixel_counts(p: DotProblem, tile: Tile) -> tuple[int, int]:
    """Tile sizes along the row: threes, then twos, so that no pixel is left alone."""
    return (tile.pixels, 2) if tile.pixels == _MOST_PIXELS else (tile.pixels, tile.pixels)


def _pixels_in_threes(pixels: int) -> int:
    """How many pixels go in threes when the rest is to be even."""
    threes = pixels // 3
    return 3 * (threes if (pixels - 3 * threes) % 2 == 0 else threes - 1)


def _tiled(proc: Proc, p: DotProblem, tile: Tile) -> Proc:
    """for o, x -> for blocks of channels, for blocks of pixels, a tile of sums in registers."""
    proc = split(proc, "o", tile.channels, "ob", "oi")
    proc = privatize(proc, _ends(p).locals, "oi")
    proc = reorder(proc, "oi", "column")
    if tile.pixels == _MOST_PIXELS:
        proc = _split_pixels(proc, p.pixels)
    else:
        proc = split(proc, "column", tile.pixels, "xb", "xi")
    for var in ("oi", "xi"):
        proc = unroll(privatize(proc, ("sum",), var), var)
    return proc


def _split_pixels(proc: Proc, pixels: int) -> Proc:
    in_threes = _pixels_in_threes(pixels)
    if in_threes == pixels:
        return split(proc, "column", 3, "xb", "xi")
    if in_threes == 0:
        return split(proc, "column", 2, "xb", "xi")
    proc = partition(proc, "column", in_threes, "threes", "rest")
    return split(split(proc, "threes", 3, "xb", "xi"), "rest", 2, "xb", "xi")


def _groups_outermost(proc: Proc) -> Proc:
    """The reduction of each tile: kernel rows, then groups, then the tile."""
    for outer in ("oi", "xi"):
        for inner in ("r", "t", "group"):
            proc = reorder(proc, outer, inner)
    return proc
