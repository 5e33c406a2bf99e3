"""Helium: a byte of two 4-bit weights, of two channels for the same input value.

A byte 16 a + b can be a factor of VMLADAVA directly, and so can 16 b, which a shift by four extracts.
Products with the same values give two sums, 16 A + B and 16 B, from which a core register computes 16 A. A
byte cannot hold 16 * -8 + b if b is negative. If there is such a pair, the halves of the byte are the two
weights, and shifts extract both.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from aot.ir.types import Array
from codegen.kernels.four_bit_weights import has_four_bits
from codegen.loops.ir import Binary, Const, Expr

DIGITS = 2  # per byte
SHIFT = 4  # bits of a digit
_HALF, _MASK = 8, 15
_MOST_VALUES = 1 << 16  # of a window; 32-bit sums hold that many products of bytes


class WeightForm(Enum):
    """The encoding of weights in bytes. The value is a part of names."""

    BYTES = ""  # one weight
    JOINED = "_joined_fours"  # 16 a + b
    NIBBLES = "_four_bits"  # a in the upper half, b in the lower

    @property
    def is_four_bits(self) -> bool:
        return self is not WeightForm.BYTES

    def vectors(self, channels: int) -> int:
        """Returns how many vectors hold a weight of each channel."""
        return -(-channels // DIGITS) if self.is_four_bits else channels


def _low(byte: Expr) -> Expr:
    return Binary("-", Binary("&", Binary("+", byte, Const(_HALF)), Const(_MASK)), Const(_HALF))


def weight_of(form: WeightForm, channel: int, channels: int, byte: Expr) -> Expr:
    """Returns the weight of a channel from its byte. A last channel without partner has a whole byte."""
    if channel % DIGITS:
        return _low(byte)
    if channel == channels - 1:
        return byte
    rounded = Binary("+", byte, Const(_HALF)) if form is WeightForm.JOINED else byte
    return Binary(">>", rounded, Const(SHIFT))


def form_of(weights: Array) -> WeightForm:
    """Returns the encoding of weights [channel]...: two per byte if all have four bits, joined if they fit.

    Fours of channels begin at even ones, so pairs are the same in blocks and in the remainder.
    """
    if not has_four_bits(weights) or weights[0].size > _MOST_VALUES:
        return WeightForm.BYTES
    is_held = in_bytes(WeightForm.JOINED, weights, np.int16).min() >= np.iinfo(np.int8).min
    return WeightForm.JOINED if is_held else WeightForm.NIBBLES


def in_bytes(form: WeightForm, weights: Array, dtype: type[np.integer[Any]] = np.int8) -> Array:
    """Packs weights [channel]... as bytes [pair of channels]...; an odd last channel has whole bytes."""
    wide = weights.astype(np.int16)
    pairs = len(wide) // DIGITS * DIGITS
    high, low = wide[:pairs:2] << SHIFT, wide[1:pairs:2]
    both = high + low if form is WeightForm.JOINED else high | (low & _MASK)
    return np.concatenate([both, wide[pairs:]]).astype(dtype)
