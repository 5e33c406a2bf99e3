"""Contraction: sums of products of elements of two tensors, addressed by strides, like matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.rearrange import Loops

_RESULTS = {
    DType.F32: DType.F32,
    DType.I8: DType.I32,
    DType.U8: DType.I32,
    DType.I16: DType.I32,
    DType.I32: DType.I32,
    DType.I64: DType.I64,
}
_PIECE = 1 << 22  # products computed at a time in the reference


def _elements(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(t).dtype for t in inputs]
    same = found[0] is found[1] and found[0] in _RESULTS
    return None if same else f"{found[0].value} and {found[1].value}"


def _loops(op: Contract, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    if not len(op.sizes) == len(op.strides1) == len(op.strides2) or not 0 <= op.summed <= len(op.sizes):
        return f"there are {len(op.sizes)}, {len(op.strides1)} and {len(op.strides2)}"
    made = prod(op.sizes[: len(op.sizes) - op.summed])
    return None if made == prod(op.shape) else f"they give {made} results, not {prod(op.shape)}"


def _inside(op: Contract, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    for tensor, strides in zip(inputs, (op.strides1, op.strides2), strict=True):
        low, high = Loops(op.sizes, strides).reach
        if low < 0 or high >= required(tensor).elements:
            return f"elements {low} to {high} of {required(tensor).elements}"
    return None


@dataclass(frozen=True, slots=True)
class Contract(Op):
    """Inputs: x1, x2. Nested loops over `sizes` step through both by their strides; sums the last `summed`.

    Products of 8 and 16 bits are summed in 32 bits, others in 64 bits; sums must not overflow.
    """

    name: ClassVar[str] = "contract"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        Constraint("both inputs must be f32, or integers of one type", _elements),
        Constraint("each loop needs a stride for each input, and each step a result", _loops),
        Constraint("all elements that are read must be inside the inputs", _inside),
    )
    shape: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    summed: int = 0
    strides1: tuple[int, ...] = ()
    strides2: tuple[int, ...] = ()

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        dtype = required(inputs[0]).dtype
        return ((_RESULTS.get(dtype, dtype).value, self.shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x1, x2 = (required(a).reshape(-1) for a in arrays)
        wide = np.float64 if x1.dtype == np.float32 else np.int64
        depth = prod(self.sizes[len(self.sizes) - self.summed :])
        places = [
            Loops(self.sizes, strides).indices().reshape(-1, depth)
            for strides in (self.strides1, self.strides2)
        ]
        step = max(1, _PIECE // depth)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [
                (x1[first[i : i + step]].astype(wide) * x2[second[i : i + step]].astype(wide)).sum(axis=1)
                for first, second in [places]
                for i in range(0, len(first), step)
            ]
            return (np.concatenate(sums).astype(outputs[0].dtype.numpy).reshape(self.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=prod(self.sizes), elementwise=outputs[0].elements)
