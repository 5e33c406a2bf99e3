"""Logarithms of unsigned integers by interpolation in a log2 table, like TFLite Micro's signal library."""

from __future__ import annotations

import math

BITS, SEGMENT_BITS = 16, 7  # fraction bits; bits of a fraction's index in the table
LN_2 = 45426  # in units of 2^-16
_WORD, _HALF = 2**32 - 1, 2**15
# log2(1 + f) - f for 128 values of f and at the end, in units of 2^-16.
CORRECTIONS = tuple(
    round((1 << BITS) * (math.log2(1 + place / (1 << SEGMENT_BITS)) - place / (1 << SEGMENT_BITS)))
    for place in range((1 << SEGMENT_BITS) + 1)
)


def fixed_log(number: int, scale: int) -> int:
    """Returns ln(number mod 2^32) * scale, at most 32767; 0 for 0 and 1."""
    number &= _WORD
    if number <= 1:
        return 0
    whole = number.bit_length() - 1
    log2 = (whole << BITS) + _fraction(number, whole)
    natural = (LN_2 * log2 + _HALF) >> BITS
    return min(((scale * natural + _HALF) & _WORD) >> BITS, 2**15 - 1)


def _fraction(number: int, whole: int) -> int:
    rest = number - (1 << whole)
    rest = rest << (BITS - whole) if whole < BITS else rest >> (whole - BITS)
    segment = rest >> (BITS - SEGMENT_BITS)
    here, there = CORRECTIONS[segment : segment + 2]
    beyond = rest - (segment << (BITS - SEGMENT_BITS))
    return rest + here + (((there - here) * beyond) >> BITS)  # a 128th of the line's rise, like the reference
