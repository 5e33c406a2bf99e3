"""Dot products with four 4-bit weights in one factor: the weights of four channels.

A halfword 4096 a + 256 (b + 8) + 16 (c + 8) + (d + 8) can be a factor of SMLAD directly, and so can the
halfword without its highest digits. Products with the same values therefore give four sums. Each channel's
sum is a difference of neighboring ones, enlarged by 4096, 256, 16 or 1. Digits after the first are unsigned,
so they are 8 too large; that has no effect on values whose sum is 0. The values of a window are followed by
some that make their sum 0.

Values of rows of pixels, or of one vector, are widened once in scratch:

for blocks of tiles of pixels:
    for tiles: v = the windows' values in pairs, pixel after pixel of the tile,
        followed by values that make the sum of a window 0
    for fours of channels: for tiles:
        four sums of each pixel += v * halfwords of four weights, whole and without their first digits
        y[pixel][o] = requantised(start[o] + the channel's sum)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.dot_product import DotProblem, ends_of
from codegen.kernels.paired_rows import PixelTiles, blocks_of, pixel_tiles
from codegen.kernels.requantised import Requantised, fitted_tail, scale_constants
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
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
    maximum,
    minimum,
    substitute,
)

FOUR_BITS = "four bits"  # suffix of the task's name, which the reason for the kernel quotes
CHANNELS = 4  # per halfword
HALVES = 2  # per 32-bit word: products of SMLAD
GROUP = 4  # values read at once
SIZES = (4096, 256, 16, 1)  # weight of each digit in a halfword
LIMITS = (-8, 7)  # of a weight
_BIAS = 8  # of unsigned digits
_LARGEST_VALUE = 128
_BALANCED = 255  # values whose sum fits into 16 bits


def _without(digits: int, mask: int) -> ScalarFunction:
    name = f"last_{digits}_digits"
    return expression_function(
        name,
        DType.I32,
        {"weights": DType.I32},
        f"weights & {mask:#x}",
        lambda weights: weights & mask,
        comment=f"A half-word of four weights without the first {CHANNELS - digits}.",
    )


def _share(size: int) -> ScalarFunction:
    shift = size.bit_length() - 1
    name = f"sum_{size}_times_as_large"
    return expression_function(
        name,
        DType.I32,
        {"sum": DType.I32},
        f"sum >> {shift}",
        lambda total: total >> shift,
        comment=f"The sum that this is {size} times.",
    )


_LAST_DIGITS = (None, *(_without(n, (1 << 4 * n) - 1) for n in (3, 2, 1)))
_SHARES = tuple(_share(size) for size in SIZES[:-1])


def digits_from(number: int, half_word: Expr) -> Expr:
    """Returns the digits of a halfword from digit `number` on."""
    function = _LAST_DIGITS[number]
    return half_word if function is None else Apply(function, (half_word,))


def channel_sum(channel: int, sums: Buffer, first: int) -> Expr:
    """Returns the sum of a channel from the four sums that begin at `first`."""
    number = channel % CHANNELS
    place = first + channel
    if number == CHANNELS - 1:
        return load(sums, place)
    return Apply(_SHARES[number], (load(sums, place) - load(sums, place + 1),))


@dataclass(frozen=True, slots=True)
class WindowOfPairs:
    """The values of a sum: `length` of each kernel row, in whole groups."""

    kernel_rows: int
    length: int

    @property
    def groups_of_row(self) -> int:
        return -(-self.length // GROUP)

    @property
    def values(self) -> int:
        return self.kernel_rows * self.groups_of_row * GROUP

    @property
    def balancing_pairs(self) -> int:
        """Returns the number of pairs that make the sum of all values 0."""
        return -(-self.values // (_BALANCED * HALVES))

    @property
    def pairs(self) -> int:
        """Returns the number of pairs in scratch, and of factors in each halfword's weights."""
        return self.values // HALVES + self.balancing_pairs


def has_four_bits(weights: Array) -> bool:
    return LIMITS[0] <= int(weights.min()) and int(weights.max()) <= LIMITS[1]


def largest_sum_of_digits(weights: Array, starts: Array, window: WindowOfPairs) -> int:
    """Returns a bound of all intermediate sums of products with halfwords, and of their differences."""
    factors = np.abs(half_words(weights, window, 1).reshape(-1, window.pairs * HALVES))
    sums = int(factors[:, : window.values].sum(axis=1).max())
    balancing = sum(SIZES[1:]) * _BIAS * window.values  # together at most the magnitudes of all values
    channels = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64)).sum(axis=1)
    differences = SIZES[0] * int(channels.max())
    begin = sum(SIZES) * int(np.abs(starts.astype(np.int64)).max())
    return max(sums + balancing, differences) * _LARGEST_VALUE + begin


def tail_of_digits(tail: Requantised, weights: Array, window: WindowOfPairs) -> Requantised | None:
    """Returns the tail of sums that are computed together, with fitted scales if possible.

    A channel's start value is in its sum and in those from which it is subtracted. Returns None if weights
    have more than four bits, or if sums exceed 32 bits.
    """
    if not has_four_bits(weights) or tail.requant.sum_dtype is not DType.I32:
        return None
    for each in (fitted_tail(tail, weights, DType.I8), tail):
        if largest_sum_of_digits(weights, each.bias, window) <= INT32_MAX:
            return replace(each, bias=_starts(each.bias))
    return None


def _starts(bias: Array) -> Array:
    """Returns the start values of the sums from each digit on, at the scale of these sums."""
    fours = np.pad(bias.astype(np.int64), (0, -bias.size % CHANNELS)).reshape(-1, CHANNELS) * np.array(SIZES)
    sums = np.cumsum(fours[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(sums.reshape(-1)[: bias.size], np.int32)


def half_words(weights: Array, window: WindowOfPairs, words: int) -> Array:
    """Returns halfwords of weights [channel][kernel row]..., in the order of the tiles.

    Tiles have `words` halfwords, whose channels are consecutive, except the last one, which has just enough
    for the remaining channels.
    """
    rows = weights.reshape(weights.shape[0], window.kernel_rows, window.length).astype(np.int64)
    rows = np.pad(rows, ((0, -weights.shape[0] % CHANNELS), (0, 0), (0, -window.length % GROUP)))
    groups = rows.reshape(len(rows), -1, HALVES, HALVES)  # [channel][group][half][which pair]
    pairs = groups.transpose(0, 1, 3, 2).reshape(len(rows), -1, HALVES)
    pairs = np.pad(pairs, ((0, 0), (0, window.balancing_pairs), (0, 0)))
    digits = pairs.reshape(-1, CHANNELS, window.pairs, HALVES)
    digits[:, 1:] += _BIAS
    found = np.einsum("gdph,d->gph", digits, np.array(SIZES))
    whole = len(found) // words * words
    tiles = (found[:whole].reshape(-1, words, window.pairs, HALVES), found[None, whole:])
    return np.concatenate([tile.transpose(0, 2, 1, 3).reshape(-1) for tile in tiles])


_LOW, _HIGH = DType.I16.limits


@dataclass(frozen=True, slots=True)
class SumTile:
    """The sums computed together: for some pixels and the channels of some halfwords."""

    pixels: int
    words: int

    @property
    def sums(self) -> int:
        return self.pixels * self.words * CHANNELS


@dataclass(frozen=True, slots=True)
class ChannelTiles:
    """Consecutive tiles of channels. The last tile may be incomplete."""

    first: int  # channel
    words: int
    channels: int  # of a tile
    tiles: int


def channel_tiles(channels: int, words: int) -> tuple[ChannelTiles, ...]:
    """Returns the full tiles, and one for the remainder."""
    each = words * CHANNELS
    whole, rest = divmod(channels, each)
    tiles = [ChannelTiles(0, words, each, whole)] if whole else []
    if rest:
        tiles.append(ChannelTiles(whole * each, -(-rest // CHANNELS), rest, 1))
    return tuple(tiles)


def window_of(p: DotProblem) -> WindowOfPairs:
    return WindowOfPairs(p.kernel_rows, p.length)


def bytes_of_pixel(window: WindowOfPairs) -> int:
    """Returns the bytes of scratch of a window, with 16-bit values."""
    return window.pairs * HALVES * DType.I16.bytes


def four_bit_nest(p: DotProblem, tile: SumTile, limit_bytes: int) -> Proc:
    """Returns the loops, in tiles of at most that size and with at most `limit_bytes` for values.

    `w` has halfwords in the order of `half_words`.
    """
    x, *others = p.rows_read
    ends, window = ends_of(p), window_of(p)
    blocks = blocks_of(p.pixels, bytes_of_pixel(window), tile.pixels, limit_bytes)
    parts = channel_tiles(p.channels, tile.words)
    elements = sum(part.tiles * part.words for part in parts) * window.pairs * HALVES
    w = Buffer("w", DType.I16, elements, Role.CONSTANT)
    v = Buffer("v", DType.I16, blocks[0].pixels * window.pairs * HALVES, Role.LOCAL)

    def block(each: PixelTiles) -> Stmt:
        tiles, first = pixel_tiles(each.pixels, tile.pixels), variable("block") * each.pixels + each.first
        makes = (_widened(p, pixels, x, v, first) for pixels in tiles)
        results = (
            For("ob", part.tiles, tuple(_results(p, pixels, part, (v, w), first) for pixels in tiles))
            for part in parts
        )
        return For("block", each.tiles, (*makes, *results))

    return Proc(
        p.name,
        (x, *others, ends.result, w, *ends.tables),
        (Declare(v), *(block(each) for each in blocks)),
    )


def _results(
    p: DotProblem, tiles: PixelTiles, part: ChannelTiles, buffers: tuple[Buffer, Buffer], first: Affine
) -> Stmt:
    """Returns tiles of channels for some pixels. `first` is the first pixel of the block."""
    (v, w), window, shape = buffers, window_of(p), SumTile(tiles.pixels, part.words)
    sums, bias = Buffer("sum", DType.I32, shape.sums, Role.LOCAL), ends_of(p).tables[0]
    channel = variable("ob") * (part.words * CHANNELS) + part.first
    w_first = (variable("ob") * part.words + part.first // CHANNELS) * (window.pairs * HALVES)
    starts = [load(bias, channel + each) if each < part.channels else Const(0) for each in range(shape.sums)]
    body = (
        Declare(sums),
        *(Store(at(sums, s), starts[s % (part.words * CHANNELS)]) for s in range(shape.sums)),
        sums_nest(window, shape, (sums, v, w), (_first_value(p, tiles, variable("xb")), w_first)),
        *(_stores(p, tiles, part, each, (sums, first)) for each in range(part.channels)),
    )
    return For("xb", tiles.tiles, body)


def _stores(
    p: DotProblem, tiles: PixelTiles, part: ChannelTiles, channel: int, made: tuple[Buffer, Affine]
) -> Stmt:
    """Returns the stores of a channel for the pixels of a tile, which share its constants."""
    assert p.tail is not None
    (sums, first), o = made, variable("o")
    scales = scale_constants(p.tail.storing, p.channels, o)
    stores = []
    for pixel in range(tiles.pixels):
        column = variable("xb") * tiles.pixels + first + (tiles.first + pixel)
        place = at(ends_of(p).result, column * p.y_pixel_step + o * p.y_channel_step + p.y_first)
        total = channel_sum(channel, sums, pixel * part.words * CHANNELS)
        stores.append(Store(place, p.summed(scales.stored(total), column, o)))
    number = variable("ob") * (part.words * CHANNELS) + (part.first + channel)
    body = (*scales.loads, *stores)
    return For(f"o{channel}", 1, tuple(substitute(each, {"o": number}) for each in body))


def sums_nest(
    window: WindowOfPairs,
    shape: SumTile,
    buffers: tuple[Buffer, Buffer, Buffer],
    begin: tuple[Affine | int, Affine | int],
) -> For:
    """Adds the products of a tile, starting at an element of v and one of w."""
    (sums, v, w), (v_first, w_first) = buffers, begin
    n, h, i, q = (variable(name) for name in ("n", "h", "i", "q"))
    half_word = load(w, n * (shape.words * HALVES) + q * HALVES + h + w_first)
    value = load(v, n * (shape.pixels * HALVES) + i * HALVES + h + v_first)
    place = i * (shape.words * CHANNELS) + q * CHANNELS
    adds = tuple(
        Accumulate(at(sums, place + number), value * digits_from(number, half_word))
        for number in range(CHANNELS)
    )
    tile = For("i", shape.pixels, (For("q", shape.words, (For("h", HALVES, adds),)),))
    return For("n", window.pairs, (tile,))


def _first_value(p: DotProblem, tiles: PixelTiles, tile: Affine) -> Affine:
    return (tile * tiles.pixels + tiles.first) * (window_of(p).pairs * HALVES)


def _widened(p: DotProblem, tiles: PixelTiles, x: Buffer, v: Buffer, first: Affine) -> Stmt:
    tile = variable("fb")
    x_first = (tile * tiles.pixels + tiles.first + first) * p.x_step + p.x_first
    made = widening_nest(
        window_of(p), tiles.pixels, p.x_step, (v, x), (_first_value(p, tiles, tile), x_first)
    )
    return For("fb", tiles.tiles, (made,))


def widening_nest(
    window: WindowOfPairs,
    pixels: int,
    x_step: int,
    buffers: tuple[Buffer, Buffer],
    begin: tuple[Affine | int, Affine | int],
) -> For:
    """Writes the values of a tile in pairs, and values that make each pixel's sum 0, starting at v and x."""
    (v, x), (v_first, x_first), total = buffers, begin, local("rest", DType.I32)
    i, r, g, s, h, c = (variable(name) for name in ("fi", "r", "g", "s", "h", "c"))
    pair = (r * window.groups_of_row + g) * 2 + s
    value = load(x, i * x_step + g * GROUP + h * 2 + s + x_first, r)
    widens: tuple[Stmt, ...] = (
        Store(_pair_place(v, pixels, pair, h, v_first), value),
        Accumulate(at(total), Const(0) - value),
    )
    for name, extent in (("h", HALVES), ("s", 2), ("g", window.groups_of_row), ("r", window.kernel_rows)):
        widens = (For(name, extent, widens),)
    behind = _pair_place(v, pixels, c + window.values // HALVES, h, v_first)
    clamped = minimum(maximum(load(total), _LOW), _HIGH)
    balances = (Store(behind, clamped), Accumulate(at(total), Const(0) - Load(behind)))
    rest = For("c", window.balancing_pairs, (For("h", HALVES, balances),))
    return For("fi", pixels, (*let(total, 0), *widens, rest))


def _pair_place(v: Buffer, pixels: int, pair: Affine, half: Affine, first: Affine | int) -> BufferPlace:
    return at(v, pair * (pixels * HALVES) + variable("fi") * HALVES + half + first)
