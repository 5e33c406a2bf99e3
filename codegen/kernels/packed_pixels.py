"""Convolutions with two pixels per 32-bit register: one multiplication by a weight serves both.

    for tiles of pixels:
        for r in kernel rows: for taps, in their order:
            v = the values of two pixels packed together, the second times 65,536
        for o in channels:
            sum = start[o], for each pixel
            for taps: sum += half of v * w[o]
            y[pixel][o] = requantised(sum)

All channels share a tile's packed values. If the number of pixels is odd, the last one has no partner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.kernels.dot_product import DotProblem, Ends, ends_of
from codegen.kernels.tap_order import TapOrder
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Declare,
    Element,
    Expr,
    For,
    Index,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
)

PAIR = 2  # pixels packed together
_SECOND = 1 << 16  # factor of the second pixel


def _half(word: int, number: int) -> int:
    first = (word + (1 << 15)) % _SECOND - (1 << 15)
    return (word - first) // _SECOND if number else first


HALF = ScalarFunction(
    "half_of_word",
    DType.I32,
    """\
/* The first or the second pixel of a word. */
static inline int32_t half_of_word(int32_t word, int32_t number)
{
    const int32_t first = (int16_t)word;
    return number ? (word - first) / 65536 : first;
}
""",
    _half,
)


@dataclass(frozen=True, slots=True)
class PackedTiles:
    """Consecutive tiles of pixels along a row."""

    first: int  # pixel
    pixels: int  # of a tile
    tiles: int

    @property
    def words(self) -> int:
        return -(-self.pixels // PAIR)


def packed_tiles(pixels: int, most: int) -> tuple[PackedTiles, ...]:
    """Returns full tiles, and one for the remainder of the row."""
    whole, rest = divmod(pixels, most)
    found = (PackedTiles(0, most, whole), PackedTiles(whole * most, rest, 1))
    return tuple(each for each in found if each.pixels and each.tiles)


def packed_nest(p: DotProblem, most: int, order: TapOrder) -> Proc:
    """Returns the unscheduled loops, in tiles of up to `most` pixels; `w` has weights in this order."""
    x, *others = p.rows_read
    ends, taps = ends_of(p), p.kernel_rows * order.length
    tiles = packed_tiles(p.pixels, most)
    w = Buffer("w", DType.I8, p.channels * taps, Role.CONSTANT)
    v = Buffer("v", DType.I32, tiles[0].words * taps, Role.LOCAL)
    table = Buffer("taps", DType.I8 if order.elements.dtype == "int8" else DType.I16, taps, Role.CONSTANT)

    def row_of_tiles(each: PackedTiles) -> Stmt:
        first = variable("xb") * each.pixels + each.first
        words = _words(p, each, (x, table, v), first)
        results = For("o", p.channels, (*ends.loads, *_results(p, each, (v, w), ends, first)))
        return For("xb", each.tiles, (For("r", p.kernel_rows, (words,)), results))

    return Proc(
        p.name,
        (x, *others, ends.result, w, table, *ends.tables),
        (Declare(v), *(row_of_tiles(each) for each in tiles)),
    )


def _words(p: DotProblem, tiles: PackedTiles, buffers: tuple[Buffer, Buffer, Buffer], first: Affine) -> Stmt:
    """Packs the values of a kernel row for all pixels of a tile."""
    (x, table, v), row, tap = buffers, variable("r"), variable("t")
    length = table.elements // p.kernel_rows
    place = row * length + tap
    number = load(table, place)

    def value(pixel: int) -> Expr:
        return Element(at(x, (first + pixel) * p.x_step + p.x_first, row), number)

    def word(n: int) -> Expr:
        if n * PAIR + 1 == tiles.pixels:
            return value(n * PAIR)
        return value(n * PAIR) + value(n * PAIR + 1) * _SECOND

    stores = tuple(Store(at(v, place * tiles.words + n), word(n)) for n in range(tiles.words))
    return For("t", length, stores)


def _results(
    p: DotProblem, tiles: PackedTiles, factors: tuple[Buffer, Buffer], ends: Ends, first: Affine
) -> Iterator[Stmt]:
    """Yields the statements for a channel's results of a tile."""
    (v, w), o, tap = factors, variable("o"), variable("n")
    total = Buffer("sum", DType.I32, tiles.pixels, Role.LOCAL)
    taps = w.elements // p.channels
    start = ends.start
    assert start is not None
    yield Declare(total)
    yield from (Store(at(total, pixel), start) for pixel in range(tiles.pixels))
    yield For("n", taps, products(tiles.pixels, total, v, load(w, o * taps + tap)))
    for pixel in range(tiles.pixels):
        place = (first + pixel) * p.y_pixel_step + o * p.y_channel_step + p.y_first
        stored = ends.stored(load(total, pixel))
        yield Store(at(ends.result, place), p.summed(stored, first + pixel, o))


def products(
    pixels: int, total: Buffer, v: Buffer, weight: Expr, begin: Affine | int = 0
) -> tuple[Stmt, ...]:
    """Adds the products of a tap and a weight to the sums of a tile's pixels, from `begin` on."""
    tap, pair, half = variable("n"), variable("q"), variable("h")
    whole, words = pixels // PAIR, -(-pixels // PAIR)
    found: list[Stmt] = []
    if whole:
        value = Apply(HALF, (load(v, tap * words + pair), Index(half)))
        adds = Accumulate(at(total, pair * PAIR + half + begin), value * weight)
        found.append(For("q", whole, (For("h", PAIR, (adds,)),)))
    if pixels % PAIR:
        alone = load(v, tap * words + whole)
        found.append(Accumulate(at(total, whole * PAIR + begin), alone * weight))
    return tuple(found)
