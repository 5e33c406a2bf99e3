"""Sigmoid and tanh of 16-bit fixed-point numbers: linear interpolation in a table of 256 entries."""

from __future__ import annotations

import math

import numpy as np

from aot.ops.requant import Ints


def _entry(i: int) -> int:
    """Returns sigmoid(i / 24) as a fraction of 2**16, plus half the error of a line to the next entry."""
    s = 1 / (1 + math.exp(-i / 24))
    curvature = s * (1 - s) * (2 * s - 1)
    return math.floor(65536 * (s + curvature / (16 * 24**2)) + 0.5)


# The argument is first multiplied by 3/4, so that 255 entries cover 16 bits.
SIGMOID_TABLE = (*(_entry(i) for i in range(255)), 65535)
_TABLE = np.array(SIGMOID_TABLE, np.int64)


def sigmoid_16(x: Ints, multiplier: int = 3, right: int = 0) -> Ints:
    """Returns the sigmoid of x * multiplier / 2**right / 3, with 12 fraction bits, as a fraction of 2**15."""
    scaled = _scaled(x, multiplier, right)
    magnitude = np.abs(scaled)
    step = np.minimum(magnitude >> 9, 254)
    line = (_TABLE[step] << 9) + (magnitude & 0x1FF) * (_TABLE[step + 1] - _TABLE[step])
    result = np.where(magnitude >> 9 >= 255, 0x7FFF << 10, line)
    either: Ints = np.where(scaled >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return either >> 10


def tanh_16(x: Ints, multiplier: int = 3, right: int = 0) -> Ints:
    """Returns the tanh of x * multiplier / 2**right / 3, with 12 fraction bits, as a fraction of 2**15."""
    scaled = _scaled(x, multiplier, right)
    magnitude = np.abs(scaled)
    step = np.minimum(magnitude >> 8, 254)
    line = (_TABLE[step] << 8) + (magnitude & 0xFF) * (_TABLE[step + 1] - _TABLE[step])
    result = np.where(magnitude >> 8 >= 255, 0xFFFF << 8, line)
    half = 1 << 23
    either: Ints = np.where(scaled >= 0, result - half + (1 << 7), -result + half + (1 << 7) - 1)
    return either >> 8


def _scaled(x: Ints, multiplier: int, right: int) -> Ints:
    rounding = 1 << (right - 1) if right > 0 else 0
    scaled: Ints = (x * multiplier + rounding) >> right
    return scaled
