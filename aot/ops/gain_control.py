"""Automatic gain control: scales a channel by a gain looked up by the logarithm of its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.signal import numbers_within, types_are

GAINS = 125  # three for noise 0 to 2, then four per bit length of the noise; the last is never read
RATIO_BITS, RESULT_BITS = 12, 6  # fraction bits
_WORD = 2**32 - 1


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, noise, gains = (required(t) for t in inputs)
    fits = x.shape == noise.shape and gains.rank == 1 and gains.shape[0] >= GAINS
    return None if fits else " and ".join(limits.shape_text(t) for t in (x, noise, gains))


@dataclass(frozen=True, slots=True)
class GainControl(Op):
    """Inputs: x, noise, gains. With r = x * gain(noise) / 2^shift: r^2 / 4 if r < 2, else r - 1."""

    name: ClassVar[str] = "gain_control"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        types_are(DType.U32, DType.U32, DType.I16),
        Constraint(
            f"x and noise must have the same shape, and there must be at least {GAINS} gains", _shapes
        ),
        numbers_within(0, 63, "shift"),
    )
    shift: int = 6

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U32.value, required(inputs[0]).shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, noise, gains = (required(a) for a in arrays)
        numbers = [int(g) for g in gains]
        found = [
            compressed(int(level), gain_at(numbers, int(n)), self.shift)
            for level, n in zip(x.flat, noise.flat, strict=True)
        ]
        return (np.array(found, np.uint32).reshape(x.shape),)


def place_of(noise: int) -> int:
    """Returns the index of the first of the three gains for this noise level."""
    return noise if noise <= 2 else 4 * noise.bit_length() - 6


def beyond(noise: int) -> int:
    """Returns the fraction of the noise level within its interval, in ten bits."""
    if noise <= 2:
        return 0
    size = noise.bit_length()
    return (noise << (11 - size) if size < 11 else noise >> (size - 11)) & 0x3FF


def gain_at(gains: Sequence[int], noise: int) -> int:
    """Returns the value of the parabola through the three gains at this noise level, in 16 bits."""
    place = place_of(noise)
    return curved(gains[place], gains[place + 1], gains[place + 2], beyond(noise))


def curved(start: int, slope: int, bend: int, by: int) -> int:
    total = (((((bend * by) >> 5) + (slope << 5)) * by + (1 << 14)) >> 15) + start
    return int(np.int64(total).astype(np.int16))


def compressed(level: int, gain: int, shift: int) -> int:
    """Computes in unsigned integers: a negative gain counts as 2^32 more."""
    ratio = ((level * (gain & _WORD)) >> shift) & _WORD
    if ratio < 2 << RATIO_BITS:
        return ((ratio * ratio) & _WORD) >> (2 + 2 * RATIO_BITS - RESULT_BITS)
    return (ratio >> (RATIO_BITS - RESULT_BITS)) - (1 << RESULT_BITS)
