"""Filter banks: energies of frequencies are shared out between neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required
from aot.ops.signal import types_are


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, first, weights = (required(t) for t in inputs)
    fits = x.rank == first.rank == 1 and weights.rank == 2 and weights.shape[0] == first.shape[0]
    fits = fits and weights.shape[1] <= x.shape[0]
    return None if fits else " and ".join(limits.shape_text(t) for t in (x, first, weights))


@dataclass(frozen=True, slots=True)
class FilterBank(Op):
    """Inputs: x [n], first [channels], weights [channels, width]. Sums of 64 bits.

    Channel c is the sum of weights[c, k] * x[first[c] + k]; `first` and `weights` are constants.
    """

    name: ClassVar[str] = "filter_bank"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        types_are(DType.U32, DType.I32, DType.I32),
        Constraint("each channel must have a row of weights, no longer than x", _shapes),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U64.value, required(inputs[1]).shape),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        x, first, weights = (required(a) for a in arrays)
        window = x[first.astype(np.int64)[:, None] + np.arange(weights.shape[1])].astype(np.uint64)
        return ((window * weights.astype(np.int64).astype(np.uint64)).sum(axis=1, dtype=np.uint64),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=required(inputs[2]).elements, elementwise=outputs[0].elements)
