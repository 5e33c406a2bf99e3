"""Convolution over NHWC images with OHWI weights, an optional bias and a fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, centred, finish_integers, finish_reals, with_bias
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import conv_requant
from aot.ops.rounding import RequantRounding
from aot.ops.spatial import NO_PADDING, Padding, Pair, output_size, pad, patches


def _channels(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, w = required(inputs[0]), required(inputs[1])
    if w.rank != 4:
        return f"the weights have {w.rank} dimensions, not 4"
    if w.shape[3] == x.shape[3]:
        return None
    return f"the input has {x.shape[3]} channels, the weights {w.shape[3]}"


@dataclass(frozen=True, slots=True)
class Conv2d(Op):
    """Inputs: x [N, H, W, I], w [O, kernel rows, kernel columns, I], b [O] or None."""

    name: ClassVar[str] = "conv2d"
    constraints: ClassVar[tuple[Constraint, ...]] = limits.of_weighted_sums(
        4,
        limits.WEIGHTS_LIKE_INPUT,
        limits.BATCH_IS_ONE,
        Constraint("weights must be 4-d and have as many channels as the input (no groups)", _channels),
        limits.WINDOW_FITS,
        channel_axis=0,
    )
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: Padding = NO_PADDING  # (top, bottom), (left, right)
    activation: Activation = Activation.NONE
    rounding: RequantRounding = RequantRounding.DOUBLE
    result: DType | None = None  # if it differs from the input's
    scales_in_single: bool = False  # computes the product of the scales in single precision

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, w = required(inputs[0]), required(inputs[1])
        n, height, width, _ = x.shape
        o, kernel_rows, kernel_columns, _ = w.shape
        rows = output_size(height, kernel_rows, self.stride[0], self.dilation[0], self.padding[0])
        columns = output_size(width, kernel_columns, self.stride[1], self.dilation[1], self.padding[1])
        return (((self.result or x.dtype).value, (n, rows, columns, o)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x_type, w_type, (out_type,) = required(inputs[0]), required(inputs[1]), outputs
        x, w, b = required(arrays[0]), required(arrays[1]), arrays[2] if len(arrays) > 2 else None
        size = w.shape[1], w.shape[2]
        image = pad(centred(x, x_type), self.padding, 0.0)
        windows = patches(image, size, self.stride, self.dilation)
        n, rows, columns = windows.shape[:3]
        flat_windows = windows.transpose(0, 1, 2, 4, 5, 3).reshape(n * rows * columns, -1)
        flat_weights = w.astype(np.float64).reshape(w.shape[0], -1)
        sums = with_bias((flat_windows @ flat_weights.T).reshape(n, rows, columns, -1), b)
        if x_type.dtype is DType.F32:
            return (finish_reals(sums, self.activation),)
        multipliers = conv_requant(x_type, w_type, out_type, w.shape[0], self.scales_in_single)
        return (finish_integers(sums, multipliers, out_type, self.activation, self.rounding),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        _, kernel_rows, kernel_columns, channels = required(inputs[1]).shape
        results = outputs[0].elements
        return Cost(macs=results * kernel_rows * kernel_columns * channels, elementwise=results)
