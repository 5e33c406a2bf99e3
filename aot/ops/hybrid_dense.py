"""Fully connected layer on floats, quantized to 8 bits on the way, like LiteRT's hybrid kernel.

Each input vector is quantized by its range in this run. Products with int8 weights are summed in integers;
each sum is multiplied once, in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_reals
from aot.ops.dense import ROWS_ARE_AS_LONG, weight_scales
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.own_steps import dynamic_range, steps_from_zero

Singles = npt.NDArray[np.float32]
MOST_STEPS = 255 * 128  # of a product


def _are_bytes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = required(inputs[1]).dtype
    return None if found is DType.I8 else f"they are {found.value}"


def _sum_fits(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    length = required(inputs[0]).shape[1]
    return None if length * MOST_STEPS < 2**31 else f"there are {length}"


@dataclass(frozen=True, slots=True)
class HybridDense(Op):
    """Inputs: x [N, K], w [O, K], b [O] or None. If asymmetric, x is quantized with a zero point."""

    name: ClassVar[str] = "hybrid_dense"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 3),
        limits.same_dtype_in(DType.F32),
        Constraint("weights must be i8", _are_bytes),
        limits.BIAS_FITS_INPUT,
        limits.rank_is(2),
        ROWS_ARE_AS_LONG,
        limits.bias_per_channel(channel_axis=0),
        limits.weights_are_symmetric(channel_axis=0),
        Constraint("a row must have at most 65,793 elements, so that its sum fits 32 bits", _sum_fits),
    )
    activation: Activation = Activation.NONE
    is_asymmetric: bool = False

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, w = required(inputs[0]), required(inputs[1])
        return ((x.dtype.value, (x.shape[0], w.shape[0])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, w, b = required(arrays[0]), required(arrays[1]), arrays[2] if len(arrays) > 2 else None
        scales = weight_scales(required(inputs[1])).astype(np.float32)
        products = np.stack([self._products(row, w, scales) for row in x])
        sums = products if b is None else b.astype(np.float32) + products
        return (clamp_reals(sums, self.activation),)

    def _products(self, row: Array, w: Array, scales: Singles) -> Singles:
        own = dynamic_range(row, self.is_asymmetric)
        sums = w.astype(np.int64) @ steps_from_zero(row, own.inverse, *own.limits)
        products: Singles = sums.astype(np.float32) * (own.step * scales).astype(np.float32)
        return products

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        x = required(inputs[0])
        return Cost(macs=outputs[0].elements * x.shape[1], elementwise=outputs[0].elements + x.elements)
