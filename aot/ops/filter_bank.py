"""Filter banks: distribute the energies of frequencies over overlapping channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, first, weights = (required(t) for t in inputs)
    fits = x.rank > 0 and first.rank == 1 and weights.rank == 2 and weights.shape[0] == first.shape[0]
    fits = fits and weights.shape[1] <= x.shape[-1]
    return None if fits else " and ".join(limits.shape_text(t) for t in (x, first, weights))


def _elements(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, first, weights = (required(t).dtype for t in inputs)
    fits = first is DType.I32 and (x, weights) in _SUMS
    return None if fits else ", ".join(dtype.value for dtype in (x, first, weights))


# by types of energies and weights
_SUMS = {(DType.U32, DType.I32): DType.U64, (DType.F32, DType.F32): DType.F32}


@dataclass(frozen=True, slots=True)
class FilterBank(Op):
    """Inputs: x [.., n], first [channels], weights [channels, width]. Integer sums have 64 bits.

    Channel c is the sum of weights[c, k] * x[.., first[c] + k]; `first` and `weights` are constants.
    """

    name: ClassVar[str] = "filter_bank"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        Constraint("inputs must be u32, i32, i32, or f32, i32, f32", _elements),
        Constraint("each channel needs a row of weights, no longer than x", _shapes),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, first, weights = (required(t) for t in inputs)
        dtype = _SUMS.get((x.dtype, weights.dtype), DType.U64)
        return ((dtype.value, (*x.shape[:-1], *first.shape)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, first, weights = (required(a) for a in arrays)
        window = x[..., first.astype(np.int64)[:, None] + np.arange(weights.shape[1])]
        if x.dtype == np.float32:
            return ((window.astype(np.float64) * weights.astype(np.float64)).sum(axis=-1).astype(np.float32),)
        shares = window.astype(np.uint64) * weights.astype(np.int64).astype(np.uint64)
        return (shares.sum(axis=-1, dtype=np.uint64),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        vectors = prod(outputs[0].shape[:-1])
        return Cost(macs=vectors * required(inputs[2]).elements, elementwise=outputs[0].elements)
