"""Convolutions with paired weights: computes the factors of a row's windows once, in scratch.

    for blocks of tiles of pixels:
        for tiles: for r in kernel rows: for groups of four:
            v = the values' factors, pixel after pixel of the tile
        for channels in twos: for tiles: for pixels: for both channels:
            sum = start of the channel
            for groups: sum += v * weights
            y = requantised(sum)

The record of two channels has their start values, their weights group by group, and the constants of their
results, each number of the first channel followed by that of the second.

The kernel rows of a window follow one another in v, so its products are one loop. If rows are not whole
groups, their remainders are joined at the end. All channels share the factors of a window, so this pays from
some channels on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from codegen.isa.plain.requantise import StoreQuantised
from codegen.kernels.dot_product import Addend, DotProblem
from codegen.kernels.paired_weights import GROUP, HALVES, mixed_pixels, two_products
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
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
CHANNELS = 2  # of a tile
_MOST = 4  # pixels of a tile
SCRATCH_BYTES = 2048  # for factors, unless a tile needs more


@dataclass(frozen=True, slots=True)
class PixelTiles:
    """Tiles of pixels along a row."""

    first: int  # pixel
    pixels: int  # of a tile
    tiles: int


def pixel_tiles(pixels: int, most: int) -> tuple[PixelTiles, ...]:
    """Returns the largest tiles first.

    Fours are used only as long as a three or two threes are left, threes only as long as an even remainder
    is, so that no pixel is alone.
    """
    found: list[PixelTiles] = []
    begin = 0
    for size, count in _tile_counts(pixels, most):
        if count:
            found.append(PixelTiles(begin, size, count))
            begin += size * count
    return tuple(found)


def _tile_counts(pixels: int, most: int) -> Iterator[tuple[int, int]]:
    fours, threes = 0, 0
    if most == _MOST:
        fours = pixels // 4
        fours -= pixels % 4 in (1, 2) and fours > 0
        yield 4, fours
    rest = pixels - 4 * fours
    if most >= 3:
        threes = rest // 3
        threes -= (rest - 3 * threes) % 2 if threes else 0
        yield 3, threes
    rest -= 3 * threes
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
    """Returns the loops, in tiles of up to `most` pixels, with `limit_bytes` for factors.

    `w` has a record for each tile of channels. The loops `xb` are the meaning of instructions.
    """
    x, *others = p.rows_read
    blocks = _blocks(p, most, limit_bytes)
    record, (whole, last) = record_of(p, CHANNELS), divmod(p.channels, CHANNELS)
    w = Buffer("w", DType.I16, whole * record + (record_of(p, last) if last else 0), Role.CONSTANT)
    v = Buffer("v", DType.I16, blocks[0].pixels * _of_pixel(p), Role.LOCAL)
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    ob = variable("ob")

    def block(each: PixelTiles) -> Stmt:
        tiles, first = pixel_tiles(each.pixels, most), variable("block") * each.pixels + each.first
        makes = (_makes_factors(p, tile, x, v, first) for tile in tiles)

        def results(channels: int, o: Affine, record: Affine) -> Iterator[Stmt]:
            for tile in tiles:
                column = first + tile.first
                place = column * p.y_pixel_step + o * p.y_channel_step + p.y_first
                begin = place, Affine() + tile.first * _of_pixel(p), record
                yield results_nest(_result_row(p, tile, channels), (y, v, w), begin, (column, o))

        sums = (For("ob", whole, tuple(results(CHANNELS, ob * CHANNELS, ob * record))),) if whole else ()
        ends = results(last, Affine() + whole * CHANNELS, Affine() + whole * record) if last else ()
        return For("block", each.tiles, (*makes, *sums, *ends))

    return Proc(p.name, (x, *others, y, w), (Declare(v), *(block(each) for each in blocks)))


def result_rows(p: DotProblem, most: int, limit_bytes: int = SCRATCH_BYTES) -> tuple[ResultRow, ...]:
    """Returns all rows of tiles that the loops have."""
    channels = [count for count in (min(p.channels, CHANNELS), p.channels % CHANNELS) if count]
    tiles = (tile for each in _blocks(p, most, limit_bytes) for tile in pixel_tiles(each.pixels, most))
    return tuple(dict.fromkeys(_result_row(p, tile, count) for tile in tiles for count in channels))


def _blocks(p: DotProblem, most: int, limit_bytes: int) -> tuple[PixelTiles, ...]:
    return blocks_of(p.pixels, _of_pixel(p) * DType.I16.bytes, most, limit_bytes)


def _of_pixel(p: DotProblem) -> int:
    """Returns the halfwords of a pixel's factors."""
    return _groups_of(p) * HALVES * FACTORS


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Tiles of pixels along a row, by some channels, and where their results are stored."""

    tiles: int
    pixels: int
    channels: int
    groups: int
    storing: StoreQuantised
    y_dtype: DType
    y_pixel_step: int
    y_channel_step: int
    addend: Addend | None = None


_ORIGIN = Affine()


def _result_row(p: DotProblem, tiles: PixelTiles, channels: int) -> ResultRow:
    size = tiles.tiles, tiles.pixels, channels, _groups_of(p)
    return ResultRow(*size, _storing(p), p.y_dtype, p.y_pixel_step, p.y_channel_step, p.addend)


def _storing(p: DotProblem) -> StoreQuantised:
    assert p.tail is not None
    return p.tail.storing


def results_nest(
    row: ResultRow,
    buffers: tuple[Buffer, Buffer, Buffer],
    begin: tuple[Affine, Affine, Affine] = (_ORIGIN, _ORIGIN, _ORIGIN),
    first: tuple[Affine, Affine] = (_ORIGIN, _ORIGIN),
) -> Stmt:
    """Stores the results of a row of tiles.

    `begin` has the first elements of y, v and w, `first` the column and the channel of the first result.
    """
    (y, v, w), (y_first, v_first, w_first), storing = buffers, begin, row.storing
    of_channels, of_tile = row.channels * HALVES, row.pixels * row.groups * HALVES * FACTORS
    tile, i, j, n, h = (variable(name) for name in ("xb", "xi", "oi", "n", "h"))
    total, column = Buffer("sum", DType.I32, 1, Role.LOCAL), tile * row.pixels + i
    half_word = load(w, n * of_channels + j * HALVES + h + of_channels + w_first)
    factors = tile_factors(v, row.pixels, n, i, h, tile * of_tile + v_first)
    places = (j * HALVES + (number + 1 + row.groups) * of_channels + w_first for number in range(3))
    scale, second, term = (_number(w, place) for place in places)
    others: tuple[Expr, ...] = ()
    if storing.prepare is not None:
        others = (term if storing.is_prepared else Apply(storing.prepare, (second,)),)
    stored: Expr = Apply(storing.store, (load(total), scale, second, *others))
    if row.addend is not None:
        stored = row.addend.sum(stored, column + first[0], j + first[1])
    body = (
        Declare(total),
        Store(at(total), _number(w, j * HALVES + w_first)),
        For("n", row.groups, (For("h", HALVES, products(at(total), factors, half_word)),)),
        Store(at(y, column * row.y_pixel_step + j * row.y_channel_step + y_first), stored),
    )
    return For("xb", row.tiles, (For("xi", row.pixels, (For("oi", row.channels, body),)),))


def _number(w: Buffer, first: Affine) -> Expr:
    """Returns the 32-bit number in two halfwords, the lower one first."""
    return (load(w, first + 1) << 16) + (load(w, first) & 0xFFFF)


def record_of(p: DotProblem, channels: int) -> int:
    """Returns the halfwords of a record: start values, weights, scales and what else results need."""
    return channels * HALVES * (1 + _groups_of(p) + 2 + _storing(p).is_prepared)


def records(p: DotProblem, half_words: Array) -> Array:
    """Returns all records, as halfwords; those of the weights are [channel][halfword]."""
    assert p.tail is not None
    storing, tables = p.tail.storing, p.tail.tables
    names = ("mult", "addend" if storing.is_fitted else "right", *(["term"] if storing.is_prepared else []))
    start, *scales = (_halves(tables[name])[:, None] for name in ("bias", *names))
    every = np.concatenate([start, half_words.reshape(p.channels, -1, HALVES), *scales], axis=1)
    tiles = (every[o : o + CHANNELS] for o in range(0, p.channels, CHANNELS))
    return np.concatenate([tile.swapaxes(0, 1).reshape(-1) for tile in tiles])


def _halves(numbers: Array) -> Array:
    """Returns 32-bit numbers as halfwords, the lower one first."""
    return np.ascontiguousarray(numbers.astype("<i4")).view("<i2").reshape(-1, HALVES)


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
