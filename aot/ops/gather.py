"""Gathering: elements or slices selected by indices that may be computed in the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required

_INDEX = (DType.I8, DType.I16, DType.I32, DType.I64)


def _indices(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    dtype = required(inputs[1]).dtype
    return None if dtype in _INDEX else f"they are {dtype.value}"


def _axis(op: Gather, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, indices = required(inputs[0]), required(inputs[1])
    fact = f"axis {op.axis}, {op.batches} of {limits.shape_text(x)} and {limits.shape_text(indices)}"
    if not 0 <= op.batches <= min(op.axis, indices.rank) or not op.axis < x.rank:
        return fact
    return None if x.shape[: op.batches] == indices.shape[: op.batches] else fact


_SHARED = (
    limits.input_count(2, 2),
    limits.DTYPE_IS_KEPT,
    Constraint("indices must be signed integers", _indices),
)


@dataclass(frozen=True, slots=True)
class Gather(Op):
    """Inputs: x, indices along `axis`, separate for each index of the first `batches` dimensions.

    Indices out of range are clamped.
    """

    name: ClassVar[str] = "gather"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        Constraint("the axis must exist, and come after the dimensions that both inputs share", _axis),
    )
    axis: int = 0
    batches: int = 0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, indices = required(inputs[0]), required(inputs[1])
        shape = (*x.shape[: self.axis], *indices.shape[self.batches :], *x.shape[self.axis + 1 :])
        return ((x.dtype.value, shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, indices = required(arrays[0]), required(arrays[1]).astype(np.int64)
        inside = np.clip(indices, 0, x.shape[self.axis] - 1)
        if self.batches == 0:
            return (np.take(x, inside, self.axis).reshape(outputs[0].shape),)
        first = x.shape[: self.batches]
        parts = [np.take(x[at], inside[at], self.axis - self.batches) for at in np.ndindex(*first)]
        return (np.stack(parts).reshape(outputs[0].shape),)


def _depth(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, indices = required(inputs[0]), required(inputs[1])
    if indices.rank > 0 and indices.shape[-1] <= x.rank:
        return None
    return f"{limits.shape_text(indices)} into {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class GatherNd(Op):
    """Inputs: x, indices whose last dimension is a position in x. Indices out of range are clamped."""

    name: ClassVar[str] = "gather_nd"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        Constraint("the last dimension of the indices must be a position in the input", _depth),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, indices = required(inputs[0]), required(inputs[1])
        return ((x.dtype.value, (*indices.shape[:-1], *x.shape[indices.shape[-1] :])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, indices = required(arrays[0]), required(arrays[1]).astype(np.int64)
        depth = indices.shape[-1]
        inside = np.clip(indices, 0, np.array(x.shape[:depth], np.int64) - 1)
        return (np.asarray(x[tuple(np.moveaxis(inside, -1, 0))]).reshape(outputs[0].shape),)
