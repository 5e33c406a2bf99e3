"""Dot products with four weights of four bits in one factor: the weights of four channels.

A half-word 4096 a + 256 (b + 8) + 16 (c + 8) + (d + 8) is a factor of SMLAD as it lies in memory, and so is
what is left of it without its highest digits. Products with the same values therefore make four sums, from
which each channel's is a difference of neighbors, 4096, 256, 16 times as large or as it is. Digits below the
first have no sign, so they are 8 too large; values whose sum is 0 do not notice that. Behind the values of a
window stand some that make it 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.kernels.fitted_tail import fitted_tail
from codegen.kernels.requantised import Requantised
from codegen.loops.ir import Apply, Binary, Buffer, Expr, ScalarFunction, load

FOUR_BITS = "four bits"  # ends the name of the task, which the reason for the kernel says
CHANNELS = 4  # of a half-word
HALVES = 2  # of a word: products of SMLAD
GROUP = 4  # values that are read at once
SIZES = (4096, 256, 16, 1)  # of a digit in a half-word, times
LIMITS = (-8, 7)  # of a weight
_BIAS = 8  # of digits without a sign
_LARGEST_VALUE = 128
_BALANCED = 255  # values, whose sum 16 bits hold


def _without(digits: int, mask: int) -> ScalarFunction:
    name = f"last_{digits}_digits"
    definition = f"""\
/* A half-word of four weights without the first {CHANNELS - digits}. */
static inline int32_t {name}(int32_t weights)
{{
    return weights & {mask:#x};
}}
"""
    return ScalarFunction(name, DType.I32, definition, lambda weights: weights & mask)


def _share(size: int) -> ScalarFunction:
    shift = size.bit_length() - 1
    name = f"sum_{size}_times_as_large"
    definition = f"""\
/* The sum that this is {size} times. */
static inline int32_t {name}(int32_t sum)
{{
    return sum >> {shift};
}}
"""
    return ScalarFunction(name, DType.I32, definition, lambda total: total >> shift)


_LAST_DIGITS = (None, *(_without(n, (1 << 4 * n) - 1) for n in (3, 2, 1)))
_SHARES = tuple(_share(size) for size in SIZES[:-1])


def digits_from(number: int, half_word: Expr) -> Expr:
    """The digits of a half-word from the one of that number on."""
    function = _LAST_DIGITS[number]
    return half_word if function is None else Apply(function, (half_word,))


def channel_sum(channel: int, sums: Buffer, first: int) -> Expr:
    """The sum of a channel from those of four that begin at `first`."""
    number = channel % CHANNELS
    place = first + channel
    if number == CHANNELS - 1:
        return load(sums, place)
    return Apply(_SHARES[number], (Binary("-", load(sums, place), load(sums, place + 1)),))


@dataclass(frozen=True, slots=True)
class WindowOfPairs:
    """The values that a sum is made of: `length` of each kernel row, in whole groups."""

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
        """The pairs of values that make the sum of all 0."""
        return -(-self.values // (_BALANCED * HALVES))

    @property
    def pairs(self) -> int:
        """The words that it takes in scratch, and in each half-word's weights."""
        return self.values // HALVES + self.balancing_pairs


def has_four_bits(weights: Array) -> bool:
    return LIMITS[0] <= int(weights.min()) and int(weights.max()) <= LIMITS[1]


def largest_sum_of_digits(weights: Array, starts: Array, window: WindowOfPairs) -> int:
    """A bound of all sums of products with half-words on the way, and of their differences."""
    factors = np.abs(half_words(weights, window, 1).reshape(-1, window.pairs * HALVES))
    sums = int(factors[:, : window.values].sum(axis=1).max())
    balancing = sum(SIZES[1:]) * _BIAS * window.values  # of no more than the magnitudes of all values
    channels = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64)).sum(axis=1)
    differences = SIZES[0] * int(channels.max())
    begin = sum(SIZES) * int(np.abs(starts.astype(np.int64)).max())
    return max(sums + balancing, differences) * _LARGEST_VALUE + begin


def tail_of_digits(tail: Requantised, weights: Array, window: WindowOfPairs) -> Requantised | None:
    """The tail of sums that are made together: by scales fitted to them, or those of the layer.

    A channel's start is in its own sum and in those that it is taken from. None where weights have more than
    four bits, or 32 bits would not hold the sums.
    """
    if not has_four_bits(weights) or tail.requant.sum_dtype is not DType.I32:
        return None
    for each in (fitted_tail(tail, weights, DType.I8), tail):
        if largest_sum_of_digits(weights, each.bias, window) <= INT32_MAX:
            return replace(each, bias=_starts(each.bias))
    return None


def _starts(bias: Array) -> Array:
    """The starts of the sums of all digits from one on, as many times as large as those."""
    fours = np.pad(bias.astype(np.int64), (0, -bias.size % CHANNELS)).reshape(-1, CHANNELS) * np.array(SIZES)
    sums = np.cumsum(fours[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(sums.reshape(-1)[: bias.size], np.int32)


def half_words(weights: Array, window: WindowOfPairs, words: int) -> Array:
    """Half-words of weights [channel][kernel row]..., in the order in which tiles take them.

    Tiles have `words` half-words, whose channels lie one behind the other, except the last one, which
    has as few as hold the channels that are left.
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
