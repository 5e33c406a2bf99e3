"""Requantization with one rounding, fitted to the reference's two: a product, an addend, a constant shift.

The reference's result is a step function of the sum; it grows by one at certain sums, its thresholds. So is,
in integers and with the same shift for all channels,

    ((sum + offset) * mult, its high word, plus addend) >> shift

If both have the same thresholds, they are the same function. The multiplier is almost determined. The offset,
which costs nothing because it is part of the sums' start value, moves thresholds by less than one sum. A
search finds the constants of every channel and compares every threshold in the channel's range, so the result
is proven. Results on both sides of the zero point are rounded away from it, which a single rounding cannot
do. Such layers use the reference's method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from aot.ir.types import DType
from aot.ops.requant import INT32_MAX, Ints, multiply_by_quantized_multiplier
from codegen.isa.plain.requantise import (
    Requant,
    ShiftedRight,
    StoreQuantised,
    clamp_suffix,
    type_name,
)
from codegen.loops.ir import ScalarFunction

MOST_OFFSET = 1 << 19
_WORD = 1 << 32
_MOST_ADDEND: Mapping[DType, int] = MappingProxyType(
    {DType.I16: 1 << 15, DType.I32: 1 << 26}
)  # by stored type
_SHIFTS = (4, 1, 7)  # the first suits nearly every layer; layers with equal shifts share a kernel
_SHIFTS_OF_ENLARGED = (10, 8, 7)  # larger sums need smaller multipliers
_MUCH = 256  # enlargement factor from which `most_offset` is larger
_NEAR = 4  # largest distance, in sums, of a threshold from its position by the scale alone
_BESIDE = np.array((0, 1, -1, 2, -2, 3, -3, 4, -4), np.int64)  # offsets of multipliers to try, nearest first

_Bound = tuple[Ints, Ints]  # levels, and sums that are compared with them


@dataclass(frozen=True, slots=True)
class FittedScales:
    """Constants of each channel that reproduce every threshold, and the offset of its sums."""

    offset: Ints
    mult: Ints
    addend: Ints
    shift: int


@dataclass(frozen=True, slots=True)
class SumRange:
    """The least and greatest sum of each channel, and the distance of neighboring sums.

    With 32-bit addends, the first possible shift has worked for all layers tried, for any weights.
    """

    least: Ints
    greatest: Ints
    step: int = 1
    addends: DType = DType.I16  # stored type of its channels' addends

    @property
    def most_offset(self) -> int:
        return most_offset(self.step)

    @property
    def shifts(self) -> tuple[int, ...]:
        return _SHIFTS if self.step < _MUCH else _SHIFTS_OF_ENLARGED


def most_offset(step: int) -> int:
    """Returns the largest offset of sums from the bias if neighboring sums differ by `step`."""
    return MOST_OFFSET if step < _MUCH else MOST_OFFSET * 64


def store_fitted(r: Requant, shift: int, addends: DType = DType.I16) -> StoreQuantised:
    """Returns the store function (sum, mult, addend) -> stored value: one product, one addend, one shift."""
    limits = r.low, r.high
    if shift:
        clamped, clamp = r.math.clamped_shift("{v}", shift, *limits)
        shifted = f"(sum * scale / 2^32 + rounding) / 2^{shift}"
    else:
        clamped, clamp = r.math.clamped("{v}", *limits), r.math.clamp(*limits)
        shifted = "sum * scale / 2^32 + rounding"
    product = r.math.high_word_add
    name = f"to_{type_name(r)}{clamp_suffix(r)}_shift_{shift}"
    definition = f"""\
/* {shifted}; per-channel constants make it equal the reference. */
static inline int32_t {name}(int32_t sum, int32_t scale, int32_t rounding)
{{
    const int32_t v = {product.name}(sum, scale, rounding);
    return {clamped.format(v="v")};
}}
"""

    def compute(total: int, mult: int, addend: int) -> int:
        return int(min(max(product.compute(total, mult, addend) >> shift, r.low), r.high))

    function = ScalarFunction(name, DType.I32, definition, compute, (), (product, clamp))
    parts = ShiftedRight(False, clamped, (clamp,), is_fitted=True)
    return StoreQuantised(None, function, parts=parts, is_fitted=True, addends=addends)


def fitted(r: Requant, mult: Ints, right: Ints, sums: SumRange, half: int) -> FittedScales | None:
    """Returns the constants of each channel, or None if a channel has none.

    `half` is the value that the core adds to a product before it extracts the high word: 2^31 if it rounds.
    Cores that do not round have no shift within another instruction either: known weights try none first.
    """
    most = int(right.min()) - 1 + (sums.step.bit_length() - 1)
    first = (0,) if not half and sums.addends is DType.I16 else ()
    shifts = [shift for shift in (*first, *sums.shifts) if shift <= most]
    if r.low == r.high or not shifts:
        return None
    thresholds = _thresholds(r, mult, right, sums)
    found = (_fitted_with(r, shift, mult, right, sums, thresholds, half) for shift in shifts)
    return next(filter(None, found), None)


def _fitted_with(
    r: Requant, shift: int, mult: Ints, right: Ints, sums: SumRange, thresholds: Ints, half: int
) -> FittedScales | None:
    scale = np.exp2((shift + 1 - right).astype(np.float64)) / sums.step
    nearest = np.rint(mult * scale).astype(np.int64)
    levels = np.arange(r.low + 1, r.high + 1, dtype=np.int64) << (shift + 32)
    found: list[tuple[int, int, int]] = []
    for first, reached, least, greatest in zip(nearest, thresholds, sums.least, sums.greatest, strict=True):
        at_least = levels[reached <= greatest], reached[reached <= greatest] * sums.step
        below = levels[reached > least], (reached[reached > least] - 1) * sums.step
        channel = next(
            filter(None, (_met(int(m), at_least, below, half, sums) for m in first + _BESIDE)),
            None,
        )
        if channel is None:
            return None
        found.append(channel)
    offset, fitted_mult, addend = (np.array(column, np.int64) for column in zip(*found, strict=True))
    return FittedScales(offset, fitted_mult, addend, shift)


def _met(m: int, at_least: _Bound, below: _Bound, half: int, sums: SumRange) -> tuple[int, int, int] | None:
    """Returns (offset, multiplier, addend) with which both bounds on sums hold, or None."""
    lowest = [int((levels - totals * m).max()) for levels, totals in [at_least] if len(levels)]
    beyond = [int((levels - totals * m).min()) for levels, totals in [below] if len(levels)]
    low = lowest[0] if lowest else beyond[0] - _WORD
    high = beyond[0] if beyond else lowest[0] + _WORD
    if low >= high or not 0 <= m <= INT32_MAX:
        return None
    start = half - low
    most = min(high - low, _WORD) - 1
    offset = nearest_offset(m, start, most, sums.most_offset, sums.addends)
    return None if offset is None else (offset, m, -((offset * m + start) >> 32))


def nearest_offset(
    m: int, start: int, most: int, farthest: int = MOST_OFFSET, addends: DType = DType.I16
) -> int | None:
    """Returns the offset nearest to 0 with (offset * m + start) mod 2^32 <= most, and an addend of that type.

    Its magnitude is at most `farthest`. The addend is -((offset * m + start) >> 32).
    """
    limit = _MOST_ADDEND[addends]
    if m == 0:
        return 0 if start % _WORD <= most and abs(start >> 32) < limit else None
    least = max(-farthest, -((start + (limit - 1) * _WORD) // m))
    greatest = min(farthest, (limit * _WORD - 1 - start) // m)
    first, first_down = max(0, least), max(0, -greatest)
    up = first_multiple(m, start + first * m, most, _WORD)
    down = first_multiple(-m, start - first_down * m, most, _WORD)
    found = [first + up] if up is not None and first + up <= greatest else []
    found += [-first_down - down] if down is not None and first_down + down <= -least else []
    return min(found, key=abs, default=None)


def first_multiple(step: int, start: int, most: int, modulus: int) -> int | None:
    """Returns the least n >= 0 with (n * step + start) mod modulus <= most, by Euclid's algorithm, or None.

    If multiples skip the wanted range, the question is repeated modulo `step`: how often must they wrap until
    the remainder leads into the range?
    """
    if start % modulus <= most:
        return 0
    step, low = step % modulus, -start % modulus
    high = low + most
    if 2 * step > modulus:
        step, low, high = modulus - step, modulus - high, modulus - low
    if step == 0:
        return None
    n = -(-low // step)
    if n * step <= high:
        return n
    turns = first_multiple(modulus % step, high % step, high - low, step)
    return None if turns is None else -(-(low + modulus * turns) // step)


def _stored(r: Requant, sums: Ints, mult: Ints, right: Ints) -> Ints:
    scaled = multiply_by_quantized_multiplier(sums, mult, -right, r.rounding)
    return np.clip(np.asarray(scaled, np.int64) + r.zero_point, r.low, r.high)


def _thresholds(r: Requant, mult: Ints, right: Ints, sums: SumRange) -> Ints:
    """Returns, by bisection, the least sum at which each channel stores at least j, for all j above `low`.

    It is one beyond the greatest sum if no sum does.
    """
    levels = np.arange(r.low + 1, r.high + 1, dtype=np.int64)
    m, rt = mult[:, None], right[:, None]
    first, last = (sums.least - 1)[:, None], (sums.greatest + 1)[:, None]
    about = (levels - r.zero_point - 0.5) * np.exp2(31.0 + rt) / np.maximum(m, 1)
    nearest = np.clip(about, first.astype(float), last.astype(float)).astype(np.int64)
    below, reached = np.maximum(nearest - _NEAR, first), np.minimum(nearest + _NEAR, last)
    below = np.where((below > first) & (_stored(r, below, m, rt) >= levels), first, below)
    reached = np.where((reached < last) & (_stored(r, reached, m, rt) < levels), last, reached)
    while (reached - below > 1).any():
        middle = (below + reached) >> 1
        enough = _stored(r, middle, m, rt) >= levels
        reached, below = np.where(enough, middle, reached), np.where(enough, below, middle)
    return reached
