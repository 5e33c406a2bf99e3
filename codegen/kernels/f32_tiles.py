"""Kernels whose float sums are computed in tiles by instructions, with weights in the order of loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import clamp_f32
from codegen.kernels.f32_sums import conv2d_rows, dense_rows, with_fused_sums
from codegen.kernels.four_bit_blocks import IN_FOUR_BITS, SAVES_FLASH
from codegen.kernels.half_weights import is_half
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import F32_INPUTS, NOT_FOR_SIZE, Condition
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Instruction,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
    map_places,
)
from codegen.loops.pack import pack
from codegen.loops.schedule import partition, reorder, split
from codegen.loops.tensorize import tensorize


def _in_words(site: Site) -> bool:
    return site.input(1).dtype is DType.F32 and not (site.half_weights and is_half(site.constants[1]))


FITS = (F32_INPUTS, NOT_FOR_SIZE, Condition("weights stored in 32 bits", _in_words))
NOT_IN_FOUR_BITS = Condition[Site](
    "weights that are not stored in 4 bits",
    lambda site: not (SAVES_FLASH.holds(site) and IN_FOUR_BITS.holds(site)),
)


def _has_whole_rows(site: Site) -> bool:
    op = site.node.op
    assert isinstance(op, Conv2d)
    return op.dilation[1] == 1 or site.constants[1].shape[2] == 1


NEIGHBORING_COLUMNS = Condition("windows with neighboring columns", _has_whole_rows)
WEIGHTS = Buffer("w", DType.F32, 0, Role.CONSTANT)


@dataclass(frozen=True, slots=True)
class TileResults:
    """Results of a tile: clamped sums of `pixels` by `channels`."""

    pixels: int
    channels: int
    y_step: int  # elements from pixel to pixel
    y_channel_step: int
    has_start: bool  # sums begin with the elements of a table
    activation: Activation

    @property
    def numbers(self) -> tuple[object, ...]:
        """Returns what distinguishes functions, except pixels and channels."""
        return self.y_step, self.y_channel_step, self.has_start, self.activation.value

    @property
    def buffers(self) -> tuple[Buffer, Buffer]:
        """Returns the table of first values, and the result."""
        return Buffer("start", DType.F32, 0, Role.CONSTANT), Buffer("y", DType.F32, 0, Role.OUTPUT)

    def nest(self, extents: Mapping[str, int], x: Load, w: Load, added: ScalarFunction) -> For:
        """Returns the loops over pixels i and channels j, with those of a window that add x * w."""
        total, (start, y) = Buffer("sum", DType.F32, 1, Role.LOCAL), self.buffers
        i, j = variable("i"), variable("j")
        begin: Expr = load(start, j) if self.has_start else Const(0.0)
        made: Expr = load(total)
        if self.activation is not Activation.NONE:
            made = Apply(clamp_f32(self.activation), (made,))
        terms: Stmt = Store(at(total), Apply(added, (x, w, load(total))))
        for var, extent in reversed(tuple(extents.items())):
            terms = For(var, extent, (terms,))
        place = at(y, i * self.y_step + j * self.y_channel_step)
        result = (Declare(total), Store(at(total), begin), terms, Store(place, made))
        return For("i", self.pixels, (For("j", self.channels, result),))


@dataclass(frozen=True, slots=True)
class DotTile:
    """Results that are sums over a window of rows of `length` elements each."""

    results: TileResults
    rows: int
    length: int
    x_step: int  # elements from one pixel's window to the next

    @property
    def pixels(self) -> int:
        return self.results.pixels

    @property
    def x(self) -> Buffer:
        """Returns the rows of a window as an instruction's parameter. A single one may be any memory."""
        return window_x(self.rows)

    def of(self: _Tile, pixels: int, channels: int) -> _Tile:
        """Returns the tile of another size in the same layer."""
        return replace(self, results=replace(self.results, pixels=pixels, channels=channels))

    def nest(self, added: ScalarFunction) -> For:
        """y[i][j] = clamped(start[j] + sum over r, k of x[r][i * x_step + k] * w[r][k][j])."""
        i, j, r, k = (variable(v) for v in ("i", "j", "r", "k"))
        weight = load(WEIGHTS, (r * self.length + k) * self.results.channels + j)
        element = load(self.x, i * self.x_step + k, r)
        return self.results.nest({"r": self.rows, "t": 1, "k": self.length}, element, weight, added)


_Tile = TypeVar("_Tile", bound=DotTile)


def window_x(rows: int) -> Buffer:
    return Buffer("x", DType.F32, 0, Role.ROWS if rows > 1 else Role.INPUT, rows)


# Returns a kernel with its unscheduled sums as instructions, given a tile of one pixel with all channels,
# the pixels of a row, and the name of the weights.
WithDots = Callable[[Kernel, DotTile, int, str], Kernel]


def tiled_conv2d(with_dots: WithDots, site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    (x,), op = inputs, site.op_as(Conv2d)
    channels, rows, columns, depth = site.constants[1].shape
    results = TileResults(1, channels, y.x_step, y.c_step, site.constants.get(2) is not None, op.activation)
    layer = DotTile(results, rows, columns * depth, op.stride[1] * x.x_step)
    return with_dots(conv2d_rows(site, inputs, y), layer, y.width, "w")


def tiled_dense(with_dots: WithDots, site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, kernel = site.op_as(Dense), dense_rows(site, inputs, y)
    (x,), (outputs, depth), has_start = inputs, site.constants[1].shape, site.constants.get(2) is not None
    results = TileResults(1, outputs, 1, y.c_step, has_start, op.activation)
    if kernel.accumulation is None:
        return with_dots(kernel, DotTile(results, 1, depth, 1), 1, "w")
    sums = replace(results, y_channel_step=1, has_start=True, activation=Activation.NONE)
    row = replace(kernel.proc, body=(For("column", 1, kernel.proc.body),))
    return with_dots(replace(kernel, proc=row), DotTile(sums, 1, x.width * x.channels, 1), 1, "w")


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tiles along an axis: some of one size, and one of the rest."""

    extent: int
    size: int

    @property
    def found(self) -> tuple[tuple[int, int], ...]:
        """Returns the count and the size of each kind of tile."""
        count, rest = divmod(self.extent, self.size)
        return tuple((n, size) for n, size in ((count, self.size), (1, rest)) if n and size)

    def split(self, proc: Proc, var: str) -> Proc:
        """Returns the proc with a loop <var>_i over each tile, in <var>_b or <var>_rest_b."""
        count, rest = divmod(self.extent, self.size)
        if count and rest:
            proc = partition(proc, var, count * self.size, var, f"{var}_rest")
        if rest:
            proc = split(proc, f"{var}_rest" if count else var, rest, f"{var}_rest_b", f"{var}_i")
        return split(proc, var, self.size, f"{var}_b", f"{var}_i") if count else proc


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles of a row of results."""

    pixels: Pieces
    channels: Pieces

    def cycles(self, tile: Callable[[int, int], int]) -> int:
        """Returns the cycles of a row, given those of a tile of some pixels and channels."""
        return sum(n * m * tile(p, c) for (n, p), (m, c) in product(self.pixels.found, self.channels.found))


@dataclass(frozen=True, slots=True)
class TileSet:
    """The tiles of an instruction set."""

    name: str  # the prefix of its strategies
    added: ScalarFunction  # how a product is added to a sum
    instruction: Callable[[int, int], Instruction]  # for some pixels and channels
    reads_ahead: int = 0  # elements after the last weight that are loaded with it


def with_tiles(
    kernel: Kernel, loops: Sequence[str], tiling: Tiling, tiles: TileSet, weights: str = "w"
) -> Kernel:
    """Returns the kernel with its unscheduled sums as instructions.

    `loops` are those around a sum: over channels, then others, the last one over the row's pixels.
    """
    channel, *others = loops
    proc = tiling.channels.split(with_fused_sums(kernel, tiles.added).proc, channel)
    for var in others:
        proc = reorder(proc, f"{channel}_i", var)
    proc = tiling.pixels.split(proc, others[-1])
    order = ("u", f"{channel}_b", f"{channel}_rest_b", "m", "r", "t", "k", f"{channel}_i")
    proc, packing = pack(proc, weights, order, Affine(), limit=1)
    sizes = [(p, c) for (_, p), (_, c) in product(tiling.pixels.found, tiling.channels.found)]
    proc = tensorize(proc, f"{others[-1]}_i", [tiles.instruction(*size) for size in sizes])

    def packed(part: Array) -> Array:
        return np.concatenate([packing.apply(part), np.zeros(tiles.reads_ahead, part.dtype)])

    stored, size = kernel.constants[weights], kernel.row_tables.get(weights)
    parts = [packed(part) for part in (np.split(stored, stored.size // size) if size else [stored])]
    return replace(
        kernel,
        strategy=f"{tiles.name}-{kernel.strategy}",
        why=f"{tiling.pixels.size} pixels x {tiling.channels.size} channels at a time",
        proc=_lengthened(proc, weights, tiles.reads_ahead),
        constants={**kernel.constants, weights: np.concatenate(parts)},
        row_tables={**kernel.row_tables, weights: parts[0].size} if size else {},
    )


def _lengthened(proc: Proc, name: str, more: int) -> Proc:
    """Returns the proc with more elements in a parameter than its loops read."""
    old = proc.param(name)
    new = replace(old, elements=old.elements + more)
    body = [map_places(s, lambda p: replace(p, buffer=new) if p.buffer == old else p) for s in proc.body]
    params = tuple(new if p == old else p for p in proc.params)
    return replace(proc, params=params, body=tuple(body))
