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

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType
from aot.target import Optimize
from codegen.instr.dot_tile import LDRD_OFFSET_LIMIT, UNROLLS, DotTile
from codegen.instr.dsp import dot
from codegen.instr.dsp_rows import dot_rows
from codegen.instr.requantise import ToInt8
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.requantised import channel_constants
from codegen.kernels.residual import Addend
from codegen.loops.affine import Affine, variable
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
from codegen.loops.schedule import pad_reduction, partition, privatize, reorder, split, unroll, unroll_by
from codegen.loops.tensorize import tensorize

GROUP = 4  # products per group of the DSP instruction
_MOST_PIXELS = 3
_UNROLLED = 4  # groups, where code and time weigh the same
_UNROLLED_HOT = 16  # in layers that take much of the time
_UNROLLED_EDGE = 4  # for the one or two pixels at the ends of a row
_UNROLLED_ROWS = 10  # in those of several kernel rows, which come round soon enough
_HOT_MACS = 300_000
_MOST_WRITTEN_OUT = 48  # groups of one kernel: some four kilobytes of code


@dataclass(frozen=True, slots=True)
class Edge:
    """Pixels whose windows hang over an end of the row: what lies outside is left out."""

    first: int  # pixel, counted from the first that has its whole window: negative to the left
    pixels: int
    taps: int
    length: int  # of a tap
    x_skipped: int  # elements before the first one that is inside
    w_skipped: int


@dataclass(frozen=True, slots=True)
class DotProblem:
    """The shape of a row kernel made of dot products, and where its elements lie."""

    name: str
    pixels: int  # that have their whole window
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
    w_dtype: DType = DType.I8  # I16: weights that do not fit 8 bits
    sum_dtype: DType = DType.I32
    addend: Addend | None = None  # a row that is added to what is stored
    edges: tuple[Edge, ...] = ()  # the other pixels, each kind with a table `bias_<number>` of its own

    @property
    def rows_read(self) -> tuple[Buffer, ...]:
        """The buffers of rows that the kernel reads, in the order of its accesses."""
        x = Buffer("x", self.x_dtype, self.x_elements, Role.ROWS, self.kernel_rows)
        return (x,) if self.addend is None else (x, self.addend.row)

    def summed(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        """What is stored there, with the addend where there is one."""
        return stored if self.addend is None else self.addend.sum(stored, column, channel)

    @property
    def x_aligned(self) -> bool:
        """Every window begins at a multiple of four bytes."""
        per_word = 4 // self.x_dtype.bytes
        steps = (self.x_first, self.x_step, self.x_elements, self.tap_step if self.taps > 1 else 0)
        return all(step % per_word == 0 for step in steps)


@dataclass(frozen=True, slots=True)
class Tile:
    """How many pixels and channels a register tile holds, how often its inner loop is unrolled at most."""

    pixels: int
    channels: int
    unroll: int = 1
    weight_bits: int = 8  # 16: twice the flash, and no widening in the loop
    blocks: int = 1  # tiles along the row that are written out one after the other

    @property
    def point(self) -> Point:
        return {name: getattr(self, name) for name in self.__slots__}


DSP_KNOBS = (
    Knob("pixels", (1, 2, 3)),
    Knob("channels", (1, 2, 3, 4, 5, 6)),
    Knob("unroll", UNROLLS),
    Knob("weight_bits", (8, 16)),
    Knob("blocks", (1, 2, 3)),
)
PLAIN_KNOBS = (Knob("pixels", (1, 2, 3, 4)), Knob("channels", (1, 2, 3, 4)))


@dataclass(frozen=True, slots=True)
class ScheduledDot:
    proc: Proc
    packing: Packing | None  # how the weights [channel][kernel row][k] are stored; None: as they are

    def stored(self, weights: Array) -> Array:
        """As the proc wants them."""
        packed = self.packing.apply(weights) if self.packing is not None else weights.reshape(-1)
        return packed.astype(np.int16) if self.proc.param("w").dtype is DType.I16 else packed


def nest(p: DotProblem, w_dtype: DType) -> Proc:
    """The loop nest before any schedule."""
    x, *others = p.rows_read
    depth = p.kernel_rows * p.taps * p.length
    w = Buffer("w", w_dtype, p.channels * depth, Role.CONSTANT)
    total = Buffer("sum", p.sum_dtype, 1, Role.LOCAL)
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
        Store(at(ends.result, place), p.summed(ends.stored(load(total)), column, o)),
    )
    pixels = For("column", p.pixels, body)
    tables = tuple(Buffer(f"bias_{n}", p.sum_dtype, p.channels, Role.CONSTANT) for n in range(len(p.edges)))
    edges = [_edge(p, edge, (x, w, bias), ends) for edge, bias in zip(p.edges, tables, strict=True)]
    return Proc(
        p.name,
        (x, *others, ends.result, w, *ends.tables, *tables),
        (For("o", p.channels, (*ends.loads, pixels, *edges)),),
    )


def _edge(p: DotProblem, edge: Edge, buffers: tuple[Buffer, Buffer, Buffer], ends: _Ends) -> For:
    """The same for pixels that have a part of their window, summed from their own beginning."""
    x, w, bias = buffers
    depth = p.kernel_rows * p.taps * p.length
    total = Buffer("sum", p.sum_dtype, 1, Role.LOCAL)
    o, row, tap, k = (variable(v) for v in ("o", "r", "t", "k"))
    column = variable("edge") + edge.first
    window = column * p.x_step + tap * p.tap_step + k + (p.x_first + edge.x_skipped)
    weight = o * depth + row * (p.taps * p.length) + tap * p.length + k + edge.w_skipped
    product = Binary("*", load(x, window, row), load(w, weight))
    taps = For("t", edge.taps, (For("k", edge.length, (Accumulate(at(total), product),)),))
    place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
    body = (
        Declare(total),
        Store(at(total), load(bias, o)),
        For("r", p.kernel_rows, (taps,)),
        Store(at(ends.result, place), p.summed(ends.stored(load(total)), column, o)),
    )
    return For("edge", edge.pixels, body)


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
    proc = _tiled(nest(p, p.w_dtype), p, tile)
    for outer in ("oi", "xi"):
        for inner in ("r", "t", "k"):
            proc = reorder(proc, outer, inner)
    return ScheduledDot(proc, packing=None)


def schedule_dsp(p: DotProblem, tile: Tile, goal: Optimize) -> ScheduledDot:
    """Groups of four products by SMLAD; the weights in the order in which the groups want them.

    Where code shall be small, tiles are written for any shape, so that layers can share them.
    """
    is_general = goal is Optimize.SIZE and tile.pixels < _MOST_PIXELS
    w_dtype = DType.I16 if tile.weight_bits == 16 else p.w_dtype
    proc = pad_reduction(nest(p, w_dtype), "k", GROUP, zeros="w")
    groups = -(-p.length // GROUP)
    proc = split(proc, "k", GROUP, "group", "k4")
    crossed = p.x_dtype is not w_dtype
    if crossed:
        proc = split(proc, "k4", 2, "high", "low")
    proc = _tiled(proc, p, tile)
    proc = _groups_outermost(proc)
    within = ("low", "high") if crossed else ("k4",)
    steps = variable("group") * GROUP
    steps = steps + (variable("high") * 2 + variable("low") if crossed else variable("k4"))
    order = ("ob", "ob_tail", "r", "t", "group", "oi", *within)
    proc, packing = pack(proc, "w", order, valid=steps, limit=p.length)
    shapes = [(i, j) for i in sorted({*_pixel_counts(p, tile), 1}) for j in (tile.channels, 1)]
    tiles = [
        DotTile(i, j, groups, p.x_step, p.x_dtype, p.x_aligned, tile.unroll, w_dtype, is_general)
        for i, j in shapes
    ]
    tiles += [
        DotTile(1, j, edge.length // GROUP, 0, p.x_dtype, p.x_aligned, _UNROLLED_EDGE, w_dtype, is_general)
        for edge in p.edges
        for j in (tile.channels, 1)
    ]
    if p.kernel_rows > 1 == p.taps and p.kernel_rows * groups <= tile.unroll and not p.edges:
        proc = tensorize(proc, "r", [dot_rows(t, p.kernel_rows) for t in tiles])
    else:
        proc = tensorize(proc, "group", [dot(t) for t in tiles])
    proc = reorder(proc, "xi", "oi")
    return ScheduledDot(unroll_by(proc, "xb", tile.blocks), packing)


def task_of(p: DotProblem) -> str:
    """What tuning records call the kernel."""
    step = f" step {p.x_step}" if p.pixels > 1 else ""
    bare = " bare" if p.edges else ""
    return f"{p.name}{step} {p.x_dtype.value}{bare}"


def dsp_space(p: DotProblem, goal: Optimize, macs: int) -> Space:
    default = dsp_tile(p, goal, macs).point
    return Space(task_of(p), DSP_KNOBS, default, lambda point: _is_possible(p, point), _extents(p))


def plain_space(p: DotProblem, default: Tile) -> Space:
    point = {"pixels": default.pixels, "channels": default.channels}
    return Space(task_of(p), PLAIN_KNOBS, point, lambda tile: _is_inside(p, tile), _extents(p))


def _extents(p: DotProblem) -> Mapping[str, int]:
    return {"pixels": p.pixels, "channels": p.channels, "unroll": -(-p.length // GROUP)}


def _is_possible(p: DotProblem, tile: Point) -> bool:
    """Whether registers suffice, the farthest pixel is within reach, and the unrolling is another one."""
    reach = (tile["pixels"] - 1) * p.x_step * p.x_dtype.bytes
    most_channels = (4 if tile["weight_bits"] == 8 else 6) if tile["pixels"] == 1 else 2
    return (
        _is_inside(p, tile)
        and tile["channels"] <= most_channels
        and reach <= LDRD_OFFSET_LIMIT
        and tile["unroll"] in _different_unrolls(p)
        and tile["blocks"] <= p.pixels // tile["pixels"]
        and (tile["blocks"] == 1 or tile["unroll"] * tile["blocks"] <= _MOST_WRITTEN_OUT)
    )


def _is_inside(p: DotProblem, tile: Point) -> bool:
    return tile["pixels"] <= p.pixels and tile["channels"] <= p.channels


def _different_unrolls(p: DotProblem) -> set[int]:
    """Those that divide the groups of a kernel row, or the least that holds all the rows."""
    groups = -(-p.length // GROUP)
    dividing = {u for u in UNROLLS if groups % u == 0}
    is_written_out = p.kernel_rows > 1 == p.taps and not p.edges
    whole = [u for u in UNROLLS if u >= groups * p.kernel_rows and is_written_out]
    return dividing | set(whole[:1])


def dsp_tile(p: DotProblem, goal: Optimize, macs: int) -> Tile:
    """Three pixels by two channels take every register; a lone pixel, or one far from the next, four.

    `macs` of the whole layer say whether unrolling it further is worth the code.
    """
    small = goal is Optimize.SIZE
    hot = _UNROLLED_HOT if p.kernel_rows == 1 else _UNROLLED_ROWS
    unroll = 1 if small else hot if macs >= _HOT_MACS else _UNROLLED
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
    if p.edges:
        proc = split(reorder(proc, "oi", "edge"), "edge", 1, "xb", "xi")
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
