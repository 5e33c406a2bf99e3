"""Conversion: the same numbers with another element type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.elementwise import Elementwise
from aot.ops.op import Arrays, Constraint, Types, required


def _width(op: Convert, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = not op.of_bits or x.dtype.bytes == op.to.bytes
    return None if fits else f"{x.dtype.value} would become {op.to.value}"


@dataclass(frozen=True, slots=True)
class Convert(Elementwise):
    """Input: x. Floats are truncated and clamped to the result's type; integers drop upper bits.

    With `of_bits` the bits are reinterpreted as the other type, which has the same size.
    """

    name: ClassVar[str] = "convert"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint("bits must be read as a type of the same size", _width),
    )
    to: DType = DType.F32
    of_bits: bool = False

    def result_dtype(self, inputs: Types) -> DType:
        return self.to

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0])
        if self.of_bits:
            return (np.ascontiguousarray(x).view(self.to.numpy).reshape(x.shape),)
        if x.dtype.kind == "f" and self.to.is_integer:
            low, high = real_limits(self.to)
            whole = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
            most = self.to.numpy.type(self.to.limits[1])
            return (np.where(whole > high, most, np.clip(whole, low, high).astype(self.to.numpy)),)
        return (x.astype(self.to.numpy),)


def real_limits(dtype: DType) -> tuple[float, float]:
    """Returns the smallest and the largest f32 representable in an integer type."""
    low, high = dtype.limits
    top = np.float32(high)
    return float(low), float(top if int(top) <= high else np.nextafter(top, np.float32(0)))
