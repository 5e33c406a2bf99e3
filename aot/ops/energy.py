"""Energy of a spectrum: squared magnitude for a range of frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

_SUMS = {DType.I16: DType.U32, DType.F32: DType.F32}


def _elements(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    dtype = required(inputs[0]).dtype
    return None if dtype in _SUMS else f"it is {dtype.value}"


def _range(op: Energy, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.rank > 0 and x.shape[-1] % 2 == 0 and 0 <= op.first <= op.end <= x.shape[-1] // 2
    return None if fits else f"{op.first} to {op.end} of shape {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class Energy(Op):
    """Input: x [.., 2 n], pairs (re, im). Computes re^2 + im^2 for pairs `first` to before `end`, else 0."""

    name: ClassVar[str] = "energy"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint("x must be i16 or f32", _elements),
        Constraint("the last dimension must hold pairs, and the range must be inside it", _range),
    )
    first: int = 0
    end: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((_SUMS.get(x.dtype, DType.U32).value, (*x.shape[:-1], x.shape[-1] // 2)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, (out,) = required(arrays[0]), outputs
        wide = x.astype(np.float64 if out.dtype is DType.F32 else np.int64)
        squares = (wide**2).reshape(*out.shape, 2).sum(axis=-1)
        energies = np.zeros(out.shape, out.dtype.numpy)
        energies[..., self.first : self.end] = squares[..., self.first : self.end]
        return (energies,)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        vectors = prod(outputs[0].shape[:-1])
        return Cost(macs=2 * vectors * (self.end - self.first), elementwise=outputs[0].elements)
