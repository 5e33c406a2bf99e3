"""1 / sqrt(x) of an integer as a fixed-point multiplier, bit for bit as in the integer references."""

from __future__ import annotations

import numpy as np

from aot.ops.requant import INT32_MAX, Ints, rounding_divide_by_pot
from aot.ops.requant import saturating_rounding_doubling_high_mul as multiply

_STEPS = 5  # of Newton-Raphson
_HALF_THREE = (1 << 28) + (1 << 27)  # 3/2 with three integer bits
_HALF_SQRT_2 = 1518500250


def inverse_root_multipliers(x: Ints) -> tuple[Ints, Ints]:
    """Returns (mult, shift) for each x >= 1: 1 / sqrt(x) = mult / 2**31 * 2**shift."""
    pairs = [_inverse_root(int(v)) for v in x.ravel()]
    mult, shift = (np.asarray(column, np.int64).reshape(x.shape) for column in zip(*pairs, strict=True))
    return mult, shift


def _inverse_root(x: int) -> tuple[int, int]:
    if x <= 1:
        return INT32_MAX, 0
    right = 11
    while x >= 1 << 29:
        x, right = x // 4, right + 1
    spare = (32 - x.bit_length()) - 1
    pairs = spare // 2 - 1
    right -= pairs
    return _newton_raphson(np.int64(x << 2 * pairs)), -right


def _newton_raphson(x: np.int64) -> int:
    """Returns sqrt(1/2) / sqrt(x) for 1/4 <= x < 1, with three integer bits."""
    half = np.asarray(rounding_divide_by_pot(np.asarray(x >> 1), 1))
    root = np.asarray(1 << 28, np.int64)  # 1 with three integer bits
    for _ in range(_STEPS):
        cube = _shifted(multiply(multiply(root, root), root), 6)
        root = _shifted(multiply(np.asarray(_HALF_THREE), root) - multiply(half, cube), 3)
    return int(multiply(root, _HALF_SQRT_2))


def _shifted(value: Ints, bits: int) -> Ints:
    clipped: Ints = np.clip(value << bits, -(2**31), INT32_MAX)
    return clipped
