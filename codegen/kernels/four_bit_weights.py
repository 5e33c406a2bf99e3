"""Dot products with four 4-bit weights in one factor: the weights of four channels.

A halfword 4096 a + 256 (b + 8) + 16 (c + 8) + (d + 8) can be a factor of SMLAD directly, and so can the
halfword without its highest digits. Products with the same values therefore give four sums. Each channel's
sum is a difference of neighboring ones, enlarged by 4096, 256, 16 or 1. Digits after the first are unsigned,
so they are 8 too large; that has no effect on values whose sum is 0. The values of a window are followed by
some that make their sum 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.plain import expression_function
from codegen.kernels.requantised import Requantised, fitted_tail
from codegen.loops.ir import Apply, Buffer, Expr, ScalarFunction, load

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
