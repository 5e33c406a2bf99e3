"""Helium: a byte of two weights of four bits, those of two channels with the same value of the input.

A byte 16 a + b is a factor of VMLADAVA as it lies in memory, and so is 16 b, which a shift by four makes of
it. Products with the same values make two sums, 16 A + B and 16 B, of which a core register makes 16 A. A
byte does not hold 16 * -8 + b where b is negative: where there is such a pair, the halves of the byte are the
two weights, and shifts make factors of both.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from aot.ir.types import Array
from codegen.kernels.four_bit_weights import has_four_bits
from codegen.loops.ir import Binary, Const, Expr

DIGITS = 2  # of a byte
SHIFT = 4  # bits of a digit
_HALF, _MASK = 8, 15
_MOST_VALUES = 1 << 16  # of a window: 32 bits hold sums of as many products of bytes


class WeightForm(Enum):
    """The bytes of weights; the value is a part of names."""

    BYTES = ""  # one weight
    JOINED = "_joined_fours"  # 16 a + b
    NIBBLES = "_four_bits"  # a above, b below

    @property
    def is_four_bits(self) -> bool:
        return self is not WeightForm.BYTES

    def vectors(self, channels: int) -> int:
        """The vectors that hold a weight of each channel."""
        return -(-channels // DIGITS) if self.is_four_bits else channels


def _low(byte: Expr) -> Expr:
    return Binary("-", Binary("&", Binary("+", byte, Const(_HALF)), Const(_MASK)), Const(_HALF))


def weight_of(form: WeightForm, channel: int, channels: int, byte: Expr) -> Expr:
    """The weight of one of so many channels from its byte, which a lone last one has for itself."""
    if channel % DIGITS:
        return _low(byte)
    if channel == channels - 1:
        return byte
    rounded = Binary("+", byte, Const(_HALF)) if form is WeightForm.JOINED else byte
    return Binary(">>", rounded, Const(SHIFT))


def form_of(weights: Array) -> WeightForm:
    """The form of weights [channel]..., which share bytes if they have four bits: joined if bytes hold that.

    Fours of channels begin at even ones, so neighbors are the same in blocks and in what is left.
    """
    if not has_four_bits(weights) or weights[0].size > _MOST_VALUES:
        return WeightForm.BYTES
    is_held = in_bytes(WeightForm.JOINED, weights, np.int16).min() >= np.iinfo(np.int8).min
    return WeightForm.JOINED if is_held else WeightForm.NIBBLES


def in_bytes(form: WeightForm, weights: Array, dtype: type[np.integer[Any]] = np.int8) -> Array:
    """Weights [channel]... as bytes [pair of channels]...; a lone last channel is alone in its byte."""
    wide = weights.astype(np.int16)
    pairs = len(wide) // DIGITS * DIGITS
    high, low = wide[:pairs:2] << SHIFT, wide[1:pairs:2]
    both = high + low if form is WeightForm.JOINED else high | (low & _MASK)
    return np.concatenate([both, wide[pairs:]]).astype(dtype)
