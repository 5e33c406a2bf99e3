"""Rounds floats to a format with fewer bits; results are stored as f32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.elementwise import Elementwise
from aot.ops.op import Arrays, Constraint, Types, required


class Overflow(Enum):
    """The result for a number beyond the largest of the format."""

    LARGEST = "largest"
    INFINITE = "infinite"
    NO_NUMBER = "no_number"


def _format(op: RoundMantissa, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    fits = 0 <= op.mantissa_bits <= 23 and -126 <= op.least_exponent < 128 and op.largest > 0
    return None if fits else f"{op.mantissa_bits}, {op.least_exponent}, {op.largest}"


@dataclass(frozen=True, slots=True)
class RoundMantissa(Elementwise):
    """Input: x. Ties round to even; `least_exponent` is the exponent of the smallest normal number."""

    name: ClassVar[str] = "round_mantissa"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.F32),
        Constraint("mantissa, exponent and largest number must fit f32", _format),
    )
    mantissa_bits: int = 23
    least_exponent: int = -126
    largest: float = 1.0
    overflow: Overflow = Overflow.INFINITE
    has_nan: bool = True  # otherwise NaN becomes 0

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0]).astype(np.float64)
        _, exponents = np.frexp(np.where(np.isfinite(x), x, 0))
        steps = np.maximum(exponents - 1, self.least_exponent) - self.mantissa_bits
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.where(np.isfinite(x), np.ldexp(np.rint(np.ldexp(x, -steps)), steps), x)
            outside = np.copysign(self.outside, x)
            result = np.where(np.abs(near) > self.largest, outside, near)
        return (np.where(np.isnan(x), np.nan if self.has_nan else 0.0, result).astype(np.float32),)

    @property
    def outside(self) -> float:
        """Returns the result for a number beyond the largest of the format."""
        return {
            Overflow.LARGEST: self.largest,
            Overflow.INFINITE: float("inf"),
            Overflow.NO_NUMBER: float("nan"),
        }[self.overflow]
