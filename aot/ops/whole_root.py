"""Square roots of unsigned integers, digit by digit, rounded like TFLite Micro's signal library."""

from __future__ import annotations

import math


def whole_root(number: int) -> int:
    """Returns the nearest root, at most 16 bits for a 32-bit number."""
    root = math.isqrt(number)
    largest = 0xFFFF if number >> 32 == 0 else 0xFFFFFFFF
    return root + 1 if number - root * root > root and root != largest else root
