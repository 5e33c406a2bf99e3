"""Unpacks 16-bit camera pixels (RGB565) into bytes of red, green and blue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required


def _bytes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.dtype is DType.U8 and x.rank > 0 and x.shape[-1] == 2
    return None if fits else f"it is {x.dtype.value} {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class UnpackRgb565(Op):
    """Input: x [.., 2]. Upper bits are repeated in the lower ones, so that the largest value becomes 255."""

    name: ClassVar[str] = "unpack_rgb565"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint("the input must be u8 with 2 bytes in its last dimension", _bytes),
    )
    high_first: bool = False  # the byte with red comes first

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U8.value, (*required(inputs[0]).shape[:-1], 3)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0]).astype(np.int64)
        low, high = (x[..., 1], x[..., 0]) if self.high_first else (x[..., 0], x[..., 1])
        red, green, blue = high >> 3, (high & 7) << 3 | low >> 5, low & 31
        parts = (red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2)
        return (np.stack(parts, axis=-1).astype(np.uint8),)
