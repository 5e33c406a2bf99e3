"""Base of ops that compute each result from one element of each operand, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Op, Types, required

ANY = tuple(DType)


def _repeats(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    try:
        np.broadcast_shapes(*(required(t).shape for t in inputs))
    except ValueError:
        return " and ".join(limits.shape_text(t) for t in inputs)
    return None


SHAPES_FIT = Constraint(
    "the inputs must have the same shape, or be repeated along dimensions that are 1 or missing",
    _repeats,
)


def one_type(first: int = 0) -> Constraint:
    """Requires one element type of all inputs from the `first` on."""

    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        found = [required(t).dtype.value for t in inputs[first:]]
        return None if len(set(found)) == 1 else " and ".join(found)

    return Constraint("the inputs of the computation must have the same element type", violation)


def one_quantisation(first: int = 0) -> Constraint:
    """Requires one quantization, because stored integers are compared or moved unchanged."""

    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        quants = [t.quant for t in (*(required(i) for i in inputs[first:]), *outputs) if t.quant is not None]
        scales = {q.scales for q in quants}
        return (
            None if len(scales | {q.zero_points for q in quants}) <= 2 else f"there are {len(scales)} scales"
        )

    return Constraint("inputs and output must have the same quantization", violation)


@dataclass(frozen=True, slots=True)
class Elementwise(Op):
    """An op whose result has the shape to which its operands broadcast."""

    def result_dtype(self, inputs: Types) -> DType:
        return required(inputs[-1]).dtype

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        shape = np.broadcast_shapes(*(required(x).shape for x in inputs))
        return ((self.result_dtype(inputs).value, shape),)
