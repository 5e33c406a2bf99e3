"""Energy of a spectrum: the squares of real and imaginary parts, for a range of frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required
from aot.ops.signal import types_are


def _range(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Energy)
    x = required(inputs[0])
    fits = x.rank == 1 and x.shape[0] % 2 == 0 and 0 <= op.first <= op.end <= x.shape[0] // 2
    return None if fits else f"{op.first} to {op.end} of shape {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class Energy(Op):
    """Input: x [2 n], pairs. real^2 + imaginary^2 from pair `first` up to before `end`, the others are 0."""

    name: ClassVar[str] = "energy"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        types_are(DType.I16),
        Constraint("x must be one vector of pairs, and the range within", _range),
    )
    first: int = 0
    end: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U32.value, (required(inputs[0]).shape[0] // 2,)),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        squares = (required(arrays[0]).astype(np.int64) ** 2).reshape(-1, 2).sum(axis=1)
        energies = np.zeros(len(squares), np.uint32)
        energies[self.first : self.end] = squares[self.first : self.end]
        return (energies,)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=2 * (self.end - self.first), elementwise=outputs[0].elements)
