"""Convolutions with paired weights: computes the factors of a row's windows once, in scratch.

    for blocks of tiles of pixels:
        for tiles: for r in kernel rows: for groups of four:
            v = the values' factors, pixel after pixel of the tile
        for o in channels: for tiles: for pixels:
            sum = start[o]
            for groups: sum += v * w[o]
            y[pixel][o] = requantised(sum)

The kernel rows of a window follow one another in v, so its products are one loop. If rows are not whole
groups, their remainders are joined at the end. All channels share the factors of a window, so this pays from
some channels on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from codegen.kernels.dot_product import DotProblem, Ends, ends_of
from codegen.kernels.paired_weights import GROUP, HALVES, mixed_pixels, two_products
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)

FACTORS = 2  # of every value, or of its neighbor
SCRATCH_BYTES = 2048  # for factors, unless a tile needs more


@dataclass(frozen=True, slots=True)
class PixelTiles:
    """Tiles of pixels along a row."""

    first: int  # pixel
    pixels: int  # of a tile
    tiles: int


def pixel_tiles(pixels: int, most: int) -> tuple[PixelTiles, ...]:
    """Returns the largest tiles first.

    Threes are used only as long as an even remainder is left, so that no pixel is alone.
    """
    found: list[PixelTiles] = []
    begin = 0
    for size, count in _tile_counts(pixels, most):
        if count:
            found.append(PixelTiles(begin, size, count))
            begin += size * count
    return tuple(found)


def _tile_counts(pixels: int, most: int) -> Iterator[tuple[int, int]]:
    threes = 0
    if most == 3:
        threes = pixels // 3
        threes -= (pixels - 3 * threes) % 2 if threes else 0
        yield 3, threes
    rest = pixels - 3 * threes
    twos = rest // 2 if most > 1 else 0
    yield from ((2, twos), (1, rest - 2 * twos))


def blocks_of(
    pixels: int, of_pixel: int, most: int, limit_bytes: int = SCRATCH_BYTES
) -> tuple[PixelTiles, ...]:
    """Returns the parts of a row whose factors, `of_pixel` bytes per pixel, are in scratch together.

    Parts consist of whole tiles; there are as few as possible.
    """
    if pixels * of_pixel <= limit_bytes:
        return (PixelTiles(0, pixels, 1),)
    tiles, room = -(-pixels // most), max(limit_bytes // of_pixel // most, 1)
    each = min(-(-tiles // -(-tiles // room)) * most, pixels)
    whole, rest = divmod(pixels, each)
    last = (PixelTiles(whole * each, rest, 1),) if rest else ()
    return (PixelTiles(0, each, whole), *last)


def groups_of_window(kernel_rows: int, length: int) -> int:
    """Returns the groups of four values, for `length` values in each kernel row."""
    if joins_rests(kernel_rows, length):
        return kernel_rows * (length // GROUP) + -(-kernel_rows * (length % GROUP) // GROUP)
    return kernel_rows * -(-length // GROUP)


def joins_rests(kernel_rows: int, length: int) -> bool:
    """Returns True if the joined remainders of all rows need fewer groups."""
    rest = length % GROUP
    return rest > 0 and -(-kernel_rows * rest // GROUP) < kernel_rows


def in_order_of_windows(weights: Array) -> Array:
    """Returns weights [channel][kernel row]... as [channel][k], in the order in which values are read."""
    channels, kernel_rows = weights.shape[:2]
    rows = weights.reshape(channels, kernel_rows, -1)
    length = rows.shape[2]
    whole = length // GROUP * GROUP
    if not joins_rests(kernel_rows, length):
        rows = np.pad(rows, ((0, 0), (0, 0), (0, -length % GROUP)))
        return rows.reshape(channels, -1)
    parts = (rows[..., :whole].reshape(channels, -1), rows[..., whole:].reshape(channels, -1))
    return np.concatenate(parts, axis=1)


def rows_nest(p: DotProblem, most: int, limit_bytes: int = SCRATCH_BYTES) -> Proc:
    """Returns the unscheduled loops, in tiles of up to `most` pixels, with `limit_bytes` for factors.

    `w` has halfwords in the order of `half_words`.
    """
    x, *others = p.rows_read
    groups, ends = _groups_of(p), ends_of(p)
    blocks = blocks_of(p.pixels, groups * (HALVES * FACTORS * DType.I16.bytes), most, limit_bytes)
    w = Buffer("w", DType.I16, p.channels * groups * HALVES, Role.CONSTANT)
    v = Buffer("v", DType.I16, blocks[0].pixels * groups * HALVES * FACTORS, Role.LOCAL)

    def block(each: PixelTiles) -> Stmt:
        tiles, first = pixel_tiles(each.pixels, most), variable("block") * each.pixels + each.first
        makes = (_makes_factors(p, tile, x, v, first) for tile in tiles)
        results = (_results(p, tile, (v, w), ends, first) for tile in tiles)
        sums = For("o", p.channels, (*ends.loads, *results))
        return For("block", each.tiles, (*makes, sums))

    return Proc(
        p.name,
        (x, *others, ends.result, w, *ends.tables),
        (Declare(v), *(block(each) for each in blocks)),
    )


def _results(
    p: DotProblem, tiles: PixelTiles, factors: tuple[Buffer, Buffer], ends: Ends, first: Affine
) -> Stmt:
    """Returns a channel's results of some tiles; `first` is the first pixel of the block."""
    (v, w), total, groups = factors, Buffer("sum", DType.I32, 1, Role.LOCAL), _groups_of(p)
    n, h, i, tile, o = (variable(name) for name in ("n", "h", "xi", "xb", "o"))
    half_word = load(w, o * (groups * HALVES) + n * HALVES + h)
    column = tile * tiles.pixels + i + first + tiles.first
    place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
    factor = tile_factors(v, tiles.pixels, n, i, h, _first_factor(p, tiles, tile))
    start = ends.start
    assert start is not None
    body = (
        Declare(total),
        Store(at(total), start),
        For("n", groups, (For("h", HALVES, products(at(total), factor, half_word)),)),
        Store(at(ends.result, place), p.summed(ends.stored(load(total)), column, o)),
    )
    return For("xb", tiles.tiles, (For("xi", tiles.pixels, body),))


def _first_factor(p: DotProblem, tiles: PixelTiles, tile: Affine) -> Affine:
    return (tile * tiles.pixels + tiles.first) * (_groups_of(p) * HALVES * FACTORS)


def _groups_of(p: DotProblem) -> int:
    return groups_of_window(p.kernel_rows, p.length)


def _makes_factors(p: DotProblem, tiles: PixelTiles, x: Buffer, v: Buffer, first: Affine) -> Stmt:
    tile, row = variable("fb"), variable("r")
    joins, of_group = joins_rests(p.kernel_rows, p.length), tiles.pixels * HALVES * FACTORS
    of_row = p.length // GROUP if joins else -(-p.length // GROUP)
    window = (tile * tiles.pixels + tiles.first + first) * p.x_step + p.x_first
    place = _first_factor(p, tiles, tile)
    made = factors_nest(
        v, x, tiles.pixels, p.x_step, of_row, (place + row * (of_row * of_group), window, row)
    )
    rests: tuple[Stmt, ...] = ()
    if joins:
        behind = place + p.kernel_rows * of_row * of_group, window + of_row * GROUP
        rests = (rests_nest(v, x, tiles.pixels, p.x_step, (p.kernel_rows, p.length % GROUP), behind),)
    return For("fb", tiles.tiles, (For("r", p.kernel_rows, (made,)), *rests))


def rests_nest(
    v: Buffer,
    x: Buffer,
    pixels: int,
    x_step: int,
    rests: tuple[int, int],
    begin: tuple[Affine | int, Affine | int],
) -> Stmt:
    """Computes the factors of kernel rows' remainders, then zeros. `rests` is (rows, values per row)."""
    (rows, rest), (v_first, x_first), i = rests, begin, variable("fj")

    def value(number: int) -> Expr:
        row, place = divmod(number, rest)
        return load(x, i * x_step + place + x_first, row) if row < rows else Const(0)

    stores: list[Stmt] = []
    for half in range(-(-rows * rest // GROUP) * HALVES):
        group, h = (Affine(constant=n) for n in divmod(half, HALVES))
        alone, mixed = tile_factors(v, pixels, group, i, h, v_first)
        first, second = value(half * HALVES), value(half * HALVES + 1)
        stores += [Store(alone, first), Store(mixed, mixed_pixels(first, second))]
    return For("fj", pixels, tuple(stores))


def factors_nest(
    v: Buffer, x: Buffer, pixels: int, x_step: int, groups: int, begin: tuple[Affine, Affine, Affine]
) -> Stmt:
    """Computes the factors of a tile over groups of a row, starting at an element of v and one of x."""
    n, h, i = (variable(name) for name in ("g", "h", "fi"))
    v_first, x_first, row = begin
    place = i * x_step + n * GROUP + h * HALVES + x_first
    first, second = load(x, place, row), load(x, place + 1, row)
    alone, mixed = tile_factors(v, pixels, n, i, h, v_first)
    stores = (Store(alone, first), Store(mixed, mixed_pixels(first, second)))
    return For("g", groups, (For("fi", pixels, (For("h", HALVES, stores),)),))


def tile_factors(
    v: Buffer, pixels: int, group: Affine, pixel: Affine, half: Affine, first: Affine | int
) -> tuple[BufferPlace, BufferPlace]:
    """Returns both factors of a halfword. A group has the plain ones of all pixels, then the mixed ones."""
    place = group * (pixels * HALVES * FACTORS) + pixel * HALVES + half + first
    return at(v, place), at(v, place + pixels * HALVES)


def products(
    total: BufferPlace, factors: tuple[BufferPlace, BufferPlace], half_word: Load
) -> tuple[Accumulate, Accumulate]:
    first, mixed = factors
    return two_products(total, Load(first), Load(mixed), half_word)
