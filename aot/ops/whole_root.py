"""Square roots of unsigned integers, digit by digit, rounded as TFLite Micro's signal library rounds."""

from __future__ import annotations

import math


def whole_root(number: int) -> int:
    """The nearest root, of 16 bits at most where the number has 32."""
    root = math.isqrt(number)
    largest = 0xFFFF if number >> 32 == 0 else 0xFFFFFFFF
    return root + 1 if number - root * root > root and root != largest else root
