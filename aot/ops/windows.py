"""Windows: the pixels of an image, row after row in one line, cut into overlapping rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required


def _sizes(op: Windows, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return None if min(op.rows, op.length, op.step) > 0 else f"{op.rows} x {op.length}, step {op.step}"


def _phase(op: Windows, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    columns = required(inputs[0]).shape[2]
    return f"step {op.step}, {columns} columns" if op.step % columns else None


@dataclass(frozen=True, slots=True)
class Windows(Op):
    """Input: x [1, H, W, C]. Row y begins `before` pixels before pixel y * step of the line.

    Both ends of the line are padded with the zero point.
    """

    name: ClassVar[str] = "windows"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        limits.QUANTISATION_IS_KEPT,
        Constraint("rows, row length and step must be at least 1", _sizes),
        Constraint("the step must be a multiple of the input's columns", _phase),
    )
    rows: int = 1
    length: int = 1  # pixels in a row
    step: int = 1  # pixels from the start of a row to the start of the next
    before: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (1, self.rows, self.length, x.shape[3])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type = required(arrays[0]), required(inputs[0])
        line = x.reshape(-1, x.shape[3])
        places = np.arange(self.rows)[:, None] * self.step - self.before + np.arange(self.length)
        is_inside = (places >= 0) & (places < len(line))
        fill = x_type.quant.zero_point if x_type.quant is not None else 0
        picked = np.where(is_inside[..., None], line[np.clip(places, 0, len(line) - 1)], fill)
        return (picked.astype(x.dtype)[None],)
