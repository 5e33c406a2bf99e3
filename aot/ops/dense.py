"""Fully connected layer: each output is a dot product with all inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, FloatArray, centred, finish_integers, finish_reals, with_bias
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import conv_requant
from aot.ops.rounding import RequantRounding


def _depth(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, w = required(inputs[0]), required(inputs[1])
    if w.rank != 2:
        return f"the weights have {w.rank} dimensions, not 2"
    if w.shape[1] == x.shape[1]:
        return None
    return f"a row of the input has {x.shape[1]} elements, a row of the weights {w.shape[1]}"


ROWS_ARE_AS_LONG = Constraint("weights must be 2-d with rows as long as the input's", _depth)


def weight_scales(weights: TensorType) -> FloatArray:
    """Returns the weights' scale per output, or one for all; 1 for float weights."""
    return np.ones(1) if weights.quant is None else np.array(weights.quant.scales, np.float64)


@dataclass(frozen=True, slots=True)
class Dense(Op):
    """Inputs: x [N, K], w [O, K], b [O] or None.

    With f32 inputs and i8 weights, the sums are floats and each weight is multiplied by its scale.
    """

    name: ClassVar[str] = "dense"
    constraints: ClassVar[tuple[Constraint, ...]] = limits.of_weighted_sums(
        2, limits.WEIGHTS_MAY_BE_STEPS, ROWS_ARE_AS_LONG, channel_axis=0
    )
    activation: Activation = Activation.NONE
    rounding: RequantRounding = RequantRounding.DOUBLE
    result: DType | None = None  # if it differs from the input's

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, w = required(inputs[0]), required(inputs[1])
        return (((self.result or x.dtype).value, (x.shape[0], w.shape[0])),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x_type, w_type, (out_type,) = required(inputs[0]), required(inputs[1]), outputs
        x, w, b = required(arrays[0]), required(arrays[1]), arrays[2] if len(arrays) > 2 else None
        sums = centred(x, x_type) @ w.astype(np.float64).T
        if x_type.dtype is DType.F32:
            return (finish_reals(with_bias(sums * weight_scales(w_type), b), self.activation),)
        sums = with_bias(sums, b)
        multipliers = conv_requant(x_type, w_type, out_type, w.shape[0])
        return (finish_integers(sums, multipliers, out_type, self.activation, self.rounding),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        results = outputs[0].elements
        return Cost(macs=results * required(inputs[1]).shape[1], elementwise=results)
