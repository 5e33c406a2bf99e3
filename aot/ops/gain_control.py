"""Automatic gain control: the channel above its noise, scaled by a table of gains over the logarithm of
the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required
from aot.ops.signal import numbers_within, types_are

GAINS = 125  # three alone, then four for each size of the noise; the last is never looked at
RATIO_BITS, RESULT_BITS = 12, 6  # behind the point
_WORD = 2**32 - 1


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, noise, gains = (required(t) for t in inputs)
    fits = x.shape == noise.shape and gains.rank == 1 and gains.shape[0] >= GAINS
    return None if fits else " and ".join(limits.shape_text(t) for t in (x, noise, gains))


@dataclass(frozen=True, slots=True)
class GainControl(Op):
    """Inputs: x, noise, gains. r = x * gain(noise) / 2^shift; r^2 / 4 below 2, above it r - 1."""

    name: ClassVar[str] = "gain_control"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        types_are(DType.U32, DType.U32, DType.I16),
        Constraint(f"x and noise must have one shape, and there must be {GAINS} gains or more", _shapes),
        numbers_within(0, 63, "shift"),
    )
    shift: int = 6

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U32.value, required(inputs[0]).shape),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        x, noise, gains = (required(a) for a in arrays)
        numbers = [int(g) for g in gains]
        found = [
            compressed(int(level), gain_at(numbers, int(n)), self.shift)
            for level, n in zip(x.flat, noise.flat, strict=True)
        ]
        return (np.array(found, np.uint32).reshape(x.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)


def place_of(noise: int) -> int:
    """The index of the first of the three gains that a noise level lies between."""
    return noise if noise <= 2 else 4 * noise.bit_length() - 6


def beyond(noise: int) -> int:
    """The distance of the noise level from that place, in ten bits."""
    if noise <= 2:
        return 0
    size = noise.bit_length()
    return (noise << (11 - size) if size < 11 else noise >> (size - 11)) & 0x3FF


def gain_at(gains: Sequence[int], noise: int) -> int:
    """A parabola through the three numbers at its place, in 16 bits."""
    place = place_of(noise)
    return curved(gains[place], gains[place + 1], gains[place + 2], beyond(noise))


def curved(start: int, slope: int, bend: int, by: int) -> int:
    total = (((((bend * by) >> 5) + (slope << 5)) * by + (1 << 14)) >> 15) + start
    return int(np.int64(total).astype(np.int16))


def compressed(level: int, gain: int, shift: int) -> int:
    """All in unsigned integers: a gain below 0 counts as 2^32 more."""
    ratio = ((level * (gain & _WORD)) >> shift) & _WORD
    if ratio < 2 << RATIO_BITS:
        return ((ratio * ratio) & _WORD) >> (2 + 2 * RATIO_BITS - RESULT_BITS)
    return (ratio >> (RATIO_BITS - RESULT_BITS)) - (1 << RESULT_BITS)
