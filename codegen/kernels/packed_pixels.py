"""Convolutions with two pixels per 32-bit register: one multiplication by a weight serves both.

    for tiles of pixels:
        for r in kernel rows: for taps, in their order:
            v = the values of two pixels packed together, the second times 65,536
        for o in channels:
            sum = start[o], for each pixel
            for taps: sum += half of v * w[o]
            y[pixel][o] = requantised(sum)

All channels share a tile's packed values. If the number of pixels is odd, the last one has no partner.

Two sums share a 32-bit register for some products, the taps of an iteration, before they are added to 32-bit
sums. A value has 8 bits, so the absolute weights of an iteration may add up to at most 255 in any channel.
Large weights are often neighbors; another order then permits three or four taps per iteration instead of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType
from codegen.kernels.dot_product import DotProblem, Ends, ends_of
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

MOST_WEIGHT = 255  # of an iteration: 128 times as much, plus rounding, fits into 16 bits
_MOST_SWAPS = 24
_FULL = np.iinfo(np.int64).max
_Sums = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TapOrder:
    """The taps of each kernel row in order, with a fixed number per iteration; -1 is a zero.

    If the kernel has one row, the last iteration may have fewer instead.
    """

    taps: int
    rows: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        """Returns the taps of a kernel row, with padding zeros."""
        return len(self.rows[0])

    @property
    def turns(self) -> int:
        """Returns the whole iterations of the kernel."""
        return len(self.rows) * self.length // self.taps

    @property
    def rest(self) -> int:
        """Returns the taps after whole iterations."""
        return len(self.rows) * self.length % self.taps

    def reordered(self, weights: Array) -> Array:
        """Returns the weights [channel][kernel row]... as [channel][tap]."""
        channels, rows = weights.shape[:2]
        flat = np.pad(weights.reshape(channels, rows, -1), ((0, 0), (0, 0), (0, 1)))
        parts = [flat[:, row, list(order)] for row, order in enumerate(self.rows)]
        return np.concatenate(parts, axis=1)

    @property
    def elements(self) -> Array:
        """Returns the element of a window's row for each tap; any element for zeros."""
        flat = np.array([max(tap, 0) for row in self.rows for tap in row])
        return flat.astype(np.int8 if flat.max() < 128 else np.int16)


def tap_order(weights: Array, taps: int) -> TapOrder | None:
    """Returns an order with that many taps per iteration, or None if none was found.

    Assigns taps, largest weights first, to the iteration where they fit best. Taps that exceed the limit are
    then swapped a limited number of times.
    """
    channels, rows = weights.shape[:2]
    return _found(weights.tobytes(), (channels, rows, weights.size // (channels * rows)), taps)


@lru_cache(maxsize=512)
def _found(data: bytes, shape: tuple[int, int, int], taps: int) -> TapOrder | None:
    sizes = np.abs(np.frombuffer(data, np.int8).reshape(shape).astype(np.int64))
    if shape[1] == 1 and shape[2] > taps and shape[2] % taps:
        whole = _of_row(sizes[:, 0], taps, ends_short=True)
        if whole is not None:
            return TapOrder(taps, (whole[: shape[2]],))
    found = [_of_row(sizes[:, row], taps) for row in range(shape[1])]
    rows = tuple(each for each in found if each is not None)
    return TapOrder(taps, rows) if len(rows) == len(found) else None


def _of_row(sizes: _Sums, taps: int, ends_short: bool = False) -> tuple[int, ...] | None:
    """Returns the order for absolute weights [channel][tap]; if it `ends_short`, its zeros are the last."""
    turns = -(-sizes.shape[1] // taps)
    if sizes.sum(axis=1).max() > turns * MOST_WEIGHT:
        return None
    length = sizes.shape[1]
    sizes = np.pad(sizes, ((0, 0), (0, turns * taps - length)))
    last = list(range(length, turns * taps)) if ends_short else []
    members, sums = _largest_first(sizes, turns, taps, last)
    for _ in range(_MOST_SWAPS):
        if (sums <= MOST_WEIGHT).all():
            members[-1].sort(key=lambda tap: tap >= length)
            return tuple(tap if tap < length else -1 for turn in members for tap in turn)
        if not _swap(sizes, members, sums, frozenset(last)):
            return None
    return None


def _largest_first(sizes: _Sums, turns: int, taps: int, last: list[int]) -> tuple[list[list[int]], _Sums]:
    """Returns the taps of each iteration, and its weight in each channel; `last` are given to the last."""
    sums = np.zeros((len(sizes), turns), np.int64)
    members: list[list[int]] = [*([] for _ in range(turns - 1)), [*last]]
    for tap in np.argsort(-sizes.max(axis=0), kind="stable"):
        if int(tap) in last:
            continue
        with_tap = sums + sizes[:, tap : tap + 1]
        cost = _beyond(with_tap) * (1 << 20) + with_tap.max(axis=0)
        cost[[len(turn) == taps for turn in members]] = _FULL
        best = int(cost.argmin())
        members[best].append(int(tap))
        sums[:, best] += sizes[:, tap]
    return members, sums


def _beyond(sums: _Sums) -> _Sums:
    """Returns by how much each iteration exceeds the limit."""
    return np.asarray(np.maximum(sums - MOST_WEIGHT, 0).sum(axis=0))


def _swap(sizes: _Sums, members: list[list[int]], sums: _Sums, fixed: frozenset[int]) -> bool:
    """Swaps a tap of the worst iteration for another's; returns False if no swap helps."""
    beyond = _beyond(sums)
    worst = int(beyond.argmax())
    turn_of = np.repeat(np.arange(len(members)), len(members[0]))
    every = np.array(members).reshape(-1)
    best = (0, 0, 0)
    for place, tap in enumerate(members[worst]):
        if tap in fixed:
            continue
        moved = sizes[:, every] - sizes[:, tap : tap + 1]
        change = _beyond(sums[:, worst : worst + 1] + moved) + _beyond(sums[:, turn_of] - moved)
        change = change - beyond[worst] - beyond[turn_of]
        change[(turn_of == worst) | np.isin(every, list(fixed))] = 0
        other = int(change.argmin())
        best = min(best, (int(change[other]), place, other))
    gain, place, other = best
    if gain == 0:
        return False
    turn, its_place = divmod(other, len(members[0]))
    tap, new = members[worst][place], members[turn][its_place]
    members[worst][place], members[turn][its_place] = new, tap
    moved = sizes[:, new] - sizes[:, tap]
    sums[:, worst] += moved
    sums[:, turn] -= moved
    return True


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
