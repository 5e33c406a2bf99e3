"""Dot products over rows: the nest of convolutions and dense layers, and its strategies.

    for o in channels: for x in pixels:
        sum = start[o]
        for r in kernel rows: for t in taps: for k in length:
            sum += x_row[r][x * step + t * tap_step + k] * w[o][r][t][k]
        y[x][o] = requantised(sum)

In rows of pixels, the kernel's columns and channels are contiguous: there is one tap, and k runs over both.
Only a dilated kernel has a tap per column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from aot.ir.types import Array, DType
from aot.target import Optimize
from codegen.kernels import register_tile
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.register_tile import Sums
from codegen.kernels.requantised import Requantised, channel_constants
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Expr,
    For,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.loops.pack import Packing
from codegen.loops.schedule import partition, privatize, reorder, split, unroll, unroll_by

MOST_PIXELS = 3
_IMAGE_RANK = 4


@dataclass(frozen=True, slots=True)
class OverhangingPixels:
    """Pixels whose windows extend past an end of the row. Elements outside are skipped."""

    first: int  # first pixel, relative to the first one with its whole window; negative to the left
    pixels: int
    taps: int
    length: int  # of a tap
    x_skipped: int  # elements before the first one inside
    w_skipped: int


@dataclass(frozen=True, slots=True)
class Addend:
    """A row whose elements are added to the results that a kernel stores."""

    row: Buffer
    first: int  # element of pixel 0, channel 0
    pixel_step: int
    channel_step: int
    added: ScalarFunction  # (result, element of the row) -> stored value

    def sum(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        element = column * self.pixel_step + channel * self.channel_step + self.first
        return Apply(self.added, (stored, load(self.row, element)))


@dataclass(frozen=True, slots=True)
class DotProblem:
    """The shape of a row kernel of dot products, and the positions of its elements."""

    name: str
    pixels: int  # with their whole window
    channels: int
    kernel_rows: int
    taps: int
    tap_step: int
    length: int  # contiguous elements of a tap
    x_dtype: DType
    x_elements: int
    x_first: int  # first row element of pixel 0's window
    x_step: int  # elements from one output pixel's window to the next
    y_dtype: DType
    y_elements: int
    y_first: int
    y_pixel_step: int
    y_channel_step: int
    tail: Requantised | None  # None: sums are added to 32-bit sums in memory
    w_dtype: DType = DType.I8  # I16: weights that do not fit into 8 bits
    addend: Addend | None = None  # a row added to the results
    edges: tuple[OverhangingPixels, ...] = ()  # the other pixels; each kind has a table `bias_<number>`

    @property
    def sum_dtype(self) -> DType:
        return DType.I32 if self.tail is None else self.tail.storing.sum_dtype

    @property
    def rows_read(self) -> tuple[Buffer, ...]:
        """Returns the buffers of rows that the kernel reads, in the order of its accesses."""
        x = Buffer("x", self.x_dtype, self.x_elements, Role.ROWS, self.kernel_rows)
        return (x,) if self.addend is None else (x, self.addend.row)

    def summed(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        """Returns the stored value, plus the addend if there is one."""
        return stored if self.addend is None else self.addend.sum(stored, column, channel)

    @property
    def x_aligned(self) -> bool:
        """Returns True if every window begins at a multiple of four bytes."""
        per_word = 4 // self.x_dtype.bytes
        steps = (self.x_first, self.x_step, self.x_elements, self.tap_step if self.taps > 1 else 0)
        return all(step % per_word == 0 for step in steps)


@dataclass(frozen=True, slots=True)
class Tile:
    """The pixels and channels of a register tile, and the largest unrolling of its inner loop."""

    pixels: int
    channels: int
    unroll: int = 1
    weight_bits: int = 8  # 16: twice the flash, and no widening in the loop
    blocks: int = 1  # tiles along the row that are unrolled

    @property
    def point(self) -> Point:
        return {name: getattr(self, name) for name in self.__slots__}


PLAIN_KNOBS = (Knob("pixels", (1, 2, 3, 4)), Knob("channels", (1, 2, 3, 4)))
_WIDE_KNOBS = (
    Knob("pixels", tuple(range(1, register_tile.MOST_PIXELS + 1))),
    Knob("channels", tuple(range(1, register_tile.MOST_CHANNELS + 1))),
    Knob("unroll", register_tile.UNROLL_CHOICES, is_written_out=True),
)


@dataclass(frozen=True, slots=True)
class ScheduledDot:
    """A dot product as a strategy computes it, with its open knobs."""

    strategy: str
    why: str
    proc: Proc
    packing: Packing | None = None  # order of the stored weights [channel][kernel row][k]; None: unchanged
    space: Space | None = None
    point: Point = field(default_factory=dict)
    elements: Callable[[Array], Array] | None = None  # converts weights to the elements stored instead
    tables: Mapping[str, Array] = field(default_factory=dict)  # other constants of the proc

    def stored(self, weights: Array) -> Array:
        """Returns the weights in the order and type that the proc reads."""
        made = weights if self.elements is None else self.elements(weights)
        packed = self.packing.apply(made) if self.packing is not None else made.reshape(-1)
        return packed.astype(np.int16) if self.proc.param("w").dtype is DType.I16 else packed


DotScheduler = Callable[[Site, DotProblem], ScheduledDot]


@dataclass(frozen=True, slots=True)
class DotMethod:
    """How a layer's dot products are computed. A strategy decides it once, and the layer's code reads it."""

    dot: DotScheduler
    tail: Requantised  # how sums are stored
    row_bytes: int  # of an element of the rows that it reads
    group: int = 1  # elements read together, past the end of a row if needed
    leaves_out_taps: bool = False  # reads unpadded rows; taps outside of them are left out


def in_stored_rows(dot: DotScheduler, tail_of: Callable[[Site], Requantised]) -> Callable[[Site], DotMethod]:
    """Returns the same method for every site, over rows in the type in which they are stored."""
    return lambda site: DotMethod(dot, tail_of(site), site.input(0).dtype.bytes)


def nest(p: DotProblem, w_dtype: DType) -> Proc:
    """Returns the unscheduled loop nest."""
    x, *others = p.rows_read
    depth = p.kernel_rows * p.taps * p.length
    w = Buffer("w", w_dtype, p.channels * depth, Role.CONSTANT)
    total = local("sum", p.sum_dtype)
    o, column, row, tap, k = (variable(v) for v in ("o", "column", "r", "t", "k"))
    window = column * p.x_step + tap * p.tap_step + k + p.x_first
    weight = o * depth + row * (p.taps * p.length) + tap * p.length + k
    product = load(x, window, row) * load(w, weight)
    ends = ends_of(p)
    place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
    body = (
        *let(total, ends.start or load(ends.result, place)),
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


def _edge(p: DotProblem, edge: OverhangingPixels, buffers: tuple[Buffer, Buffer, Buffer], ends: Ends) -> For:
    """Returns the loops of pixels with a partial window, whose sums have a separate start value."""
    x, w, bias = buffers
    depth = p.kernel_rows * p.taps * p.length
    total = local("sum", p.sum_dtype)
    o, row, tap, k = (variable(v) for v in ("o", "r", "t", "k"))
    column = variable("edge") + edge.first
    window = column * p.x_step + tap * p.tap_step + k + (p.x_first + edge.x_skipped)
    weight = o * depth + row * (p.taps * p.length) + tap * p.length + k + edge.w_skipped
    product = load(x, window, row) * load(w, weight)
    taps = For("t", edge.taps, (For("k", edge.length, (Accumulate(at(total), product),)),))
    place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
    body = (
        *let(total, load(bias, o)),
        For("r", p.kernel_rows, (taps,)),
        Store(at(ends.result, place), p.summed(ends.stored(load(total)), column, o)),
    )
    return For("edge", edge.pixels, body)


@dataclass(frozen=True, slots=True)
class Ends:
    """Defines the start value of sums and how they are stored."""

    result: Buffer
    tables: tuple[Buffer, ...]
    loads: tuple[Stmt, ...]
    locals: tuple[str, ...]
    start: Expr | None  # None: the result's present value
    stored: Callable[[Expr], Expr]


def ends_of(p: DotProblem) -> Ends:
    if p.tail is None:
        sums = Buffer("sums", DType.I32, p.y_elements, Role.STATE)
        return Ends(sums, (), (), (), None, lambda total: total)
    channel = channel_constants(p.tail.storing, p.channels, variable("o"))
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    return Ends(y, channel.tables, channel.loads, channel.names, channel.start, channel.stored)


def plain_dot(default: Tile) -> DotScheduler:
    """Returns a scheduler for cores without SIMD: a register tile of sums reuses each load several times.

    `default` is the tile for cores with few registers, and for small code.
    """

    def strategy(site: Site, p: DotProblem) -> ScheduledDot:
        space = plain_space(site, p, default)
        point = space.chosen(site.tuned)
        proc = tiled(nest(p, p.w_dtype), p, Tile(**point))
        for outer in ("oi", "xi"):
            for inner in ("r", "t", "k"):
                proc = reorder(proc, outer, inner)
        proc = unroll_by(proc, "k", point.get("unroll", 1))
        why = f"{point['pixels']} x {point['channels']} sums per tile"
        return ScheduledDot("plain", why, proc, space=space, point=point)

    return strategy


def task_of(p: DotProblem) -> str:
    """Returns the kernel's name in tuning records."""
    step = f" step {p.x_step}" if p.pixels > 1 else ""
    edges = " bare" if p.edges else ""
    return f"{p.name}{step} {p.x_dtype.value}{edges}"


def plain_space(site: Site, p: DotProblem, default: Tile) -> Space:
    registers = site.target.registers
    size = (default.pixels, default.channels)
    if registers and site.optimize is not Optimize.SIZE:
        sums = Sums(rows_of(site), p.pixels, p.channels, p.kernel_rows * p.taps * p.length)
        size = register_tile.widest_tile(sums, registers, size)
        point = {**_sized(size), "unroll": register_tile.iterations_written_out(sums, size, p.length)}
        return Space(task_of(p), _WIDE_KNOBS, point, lambda tile: _divides(p, tile), extents(p))
    return Space(task_of(p), PLAIN_KNOBS, _sized(size), lambda tile: is_inside(p, tile), extents(p))


def _sized(size: tuple[int, int]) -> Point:
    return dict(zip(("pixels", "channels"), size, strict=True))


def _divides(p: DotProblem, tile: Point) -> bool:
    return is_inside(p, tile) and p.length % tile["unroll"] == 0


def rows_of(site: Site) -> int:
    """Returns the rows of the layer's result; a vector has one."""
    shape = site.outputs[0].shape
    return shape[1] if len(shape) == _IMAGE_RANK else 1


def extents(p: DotProblem) -> Mapping[str, int]:
    return {"pixels": p.pixels, "channels": p.channels}


def is_inside(p: DotProblem, tile: Point) -> bool:
    return tile["pixels"] <= p.pixels and tile["channels"] <= p.channels


def _pixels_in_threes(pixels: int) -> int:
    """Returns the number of pixels in groups of three, so that the remainder is even."""
    threes = pixels // 3
    return 3 * (threes if (pixels - 3 * threes) % 2 == 0 else threes - 1)


def tiled(proc: Proc, p: DotProblem, tile: Tile) -> Proc:
    """Splits the loops over o and x into blocks, with a register tile of sums."""
    proc = split(proc, "o", tile.channels, "ob", "oi")
    proc = privatize(proc, ends_of(p).locals, "oi")
    proc = reorder(proc, "oi", "column")
    if tile.pixels == MOST_PIXELS:
        proc = _split_pixels(proc, p.pixels)
    else:
        proc = split(proc, "column", tile.pixels, "xb", "xi")
    if p.edges:
        proc = split(reorder(proc, "oi", "edge"), "edge", 1, "xb", "xi")
    for var in ("oi", "xi"):
        proc = unroll(privatize(proc, ("sum",), var), var)
    return proc


def in_blocks(proc: Proc, channels: int, most: int) -> Proc:
    """Splits the loop over o into blocks of `most` channels, and a smaller one for the remainder."""
    whole, rest = channels // most * most, channels % most
    if whole and rest:
        proc = partition(proc, "o", whole, "o", "o_rest")
    if rest:
        proc = split(proc, "o_rest" if whole else "o", rest, "ob_rest", "oi")
    return split(proc, "o", most, "ob", "oi") if whole else proc


def _split_pixels(proc: Proc, pixels: int) -> Proc:
    in_threes = _pixels_in_threes(pixels)
    if in_threes == pixels:
        return split(proc, "column", 3, "xb", "xi")
    if in_threes == 0:
        return split(proc, "column", 2, "xb", "xi")
    proc = partition(proc, "column", in_threes, "threes", "rest")
    return split(split(proc, "threes", 3, "xb", "xi"), "rest", 2, "xb", "xi")
