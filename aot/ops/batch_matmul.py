"""Matrix products of two computed tensors, one pair of matrices after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, centred, finish_integers
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import Multipliers, conv_requant
from aot.ops.rounding import RequantRounding


def _shapes(op: BatchMatmul, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, y = required(inputs[0]), required(inputs[1])
    fact = f"{limits.shape_text(x)} and {limits.shape_text(y)}"
    if x.rank != 4 or y.rank != 4 or x.shape[0] != 1 or y.shape[0] != 1:
        return fact
    fits = op.sizes(x)[2] == op.sizes_of_second(y)[1]
    pairs = {x.shape[1], y.shape[1]} - {1}
    return None if fits and (len(pairs) <= 1 or x.shape[1] % y.shape[1] == 0) else fact


def _second(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    second = required(inputs[1])
    if second.dtype is DType.F32:
        return None
    if second.quant is None or second.quant.is_per_channel:
        return "it has no single scale"
    return None


@dataclass(frozen=True, slots=True)
class BatchMatmul(Op):
    """Inputs: x [1, pairs or 1, M, K], y [1, matrices, K, N]; either may be stored transposed.

    Each matrix of y is used for pairs / matrices consecutive matrices of x.
    """

    name: ClassVar[str] = "batch_matmul"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        limits.SUM_TYPES,
        limits.WEIGHTS_LIKE_INPUT,
        Constraint(
            "matrices must fit, and their number must be equal, or 1 for one operand, "
            "or for the first a multiple of the second",
            _shapes,
        ),
        limits.INTEGERS_ARE_QUANTISED,
        Constraint("the second operand must be quantized with one scale and one zero point", _second),
        limits.RESCALE_FITS,
    )
    x_transposed: bool = False
    y_transposed: bool = False
    rounding: RequantRounding = RequantRounding.DOUBLE
    result: DType | None = None  # if it differs from the input's

    def sizes(self, x: TensorType) -> tuple[int, int, int]:
        """Returns (pairs, M, K) of the first operand."""
        _, pairs, *matrix = x.shape
        m, k = reversed(matrix) if self.x_transposed else matrix
        return pairs, m, k

    def sizes_of_second(self, y: TensorType) -> tuple[int, int, int]:
        """Returns (pairs, K, N) of the second operand."""
        _, pairs, *matrix = y.shape
        k, n = reversed(matrix) if self.y_transposed else matrix
        return pairs, k, n

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, y = required(inputs[0]), required(inputs[1])
        (first, m, _), (second, _, n) = self.sizes(x), self.sizes_of_second(y)
        return (((self.result or x.dtype).value, (1, max(first, second), m, n)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        types, (out,) = [required(t) for t in inputs], outputs
        x, y = (centred(required(a), t) for a, t in zip(arrays, types, strict=True))
        x = x.swapaxes(2, 3) if self.x_transposed else x
        y = y.swapaxes(2, 3) if self.y_transposed else y
        sums = x @ np.repeat(y, max(1, x.shape[1] // y.shape[1]), axis=1)
        if out.dtype is DType.F32:
            return (sums.astype(np.float32),)
        multipliers = product_requant(types[0], types[1], out)
        return (finish_integers(sums, multipliers, out, Activation.NONE, self.rounding),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        results = outputs[0].elements
        return Cost(macs=results * self.sizes(required(inputs[0]))[2], elementwise=results)


def product_requant(x: TensorType, y: TensorType, out: TensorType) -> Multipliers:
    """Returns (mult, shift) of a matrix product, as arrays of one element."""
    return conv_requant(x, y, out, 1)
