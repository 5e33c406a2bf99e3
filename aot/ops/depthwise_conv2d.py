"""Depthwise convolution: `multiplier` filters for each input channel."""

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


def _channels(op: DepthwiseConv2d, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, w = required(inputs[0]), required(inputs[1])
    if w.rank != 3:
        return f"the weights have {w.rank} dimensions, not 3"
    if w.shape[2] == x.shape[3] * op.multiplier:
        return None
    return f"the input has {x.shape[3]} channels, the multiplier is {op.multiplier}, the weights {w.shape[2]}"


@dataclass(frozen=True, slots=True)
class DepthwiseConv2d(Op):
    """Inputs: x [N, H, W, C], w [kernel rows, kernel columns, C * multiplier], b [C * multiplier] or None.

    Output channel c * multiplier + m is input channel c filtered by filter m.
    """

    name: ClassVar[str] = "depthwise_conv2d"
    constraints: ClassVar[tuple[Constraint, ...]] = limits.of_weighted_sums(
        4,
        limits.WEIGHTS_LIKE_INPUT,
        limits.BATCH_IS_ONE,
        Constraint("weights must have multiplier times as many channels as the input", _channels),
        limits.WINDOW_FITS,
        channel_axis=2,
    )
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: Padding = NO_PADDING  # (top, bottom), (left, right)
    activation: Activation = Activation.NONE
    rounding: RequantRounding = RequantRounding.DOUBLE
    multiplier: int = 1
    result: DType | None = None  # if it differs from the input's
    scales_in_single: bool = False  # computes the product of the scales in single precision

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, w = required(inputs[0]), required(inputs[1])
        n, height, width, _ = x.shape
        kernel_rows, kernel_columns, o = w.shape
        rows = output_size(height, kernel_rows, self.stride[0], self.dilation[0], self.padding[0])
        columns = output_size(width, kernel_columns, self.stride[1], self.dilation[1], self.padding[1])
        return (((self.result or x.dtype).value, (n, rows, columns, o)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x_type, w_type, (out_type,) = required(inputs[0]), required(inputs[1]), outputs
        x, w, b = required(arrays[0]), required(arrays[1]), arrays[2] if len(arrays) > 2 else None
        kernel_rows, kernel_columns, channels = w.shape
        image = pad(centred(x, x_type), self.padding, 0.0)
        image = np.repeat(image, self.multiplier, axis=3) if self.multiplier > 1 else image
        windows = patches(image, (kernel_rows, kernel_columns), self.stride, self.dilation)
        sums = np.zeros(windows.shape[:4])
        for row, column in np.ndindex(kernel_rows, kernel_columns):
            sums += windows[..., row, column] * w[row, column].astype(np.float64)
        sums = with_bias(sums, b)
        if x_type.dtype is DType.F32:
            return (finish_reals(sums, self.activation),)
        multipliers = conv_requant(x_type, w_type, out_type, channels, self.scales_in_single)
        return (finish_integers(sums, multipliers, out_type, self.activation, self.rounding),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        kernel_rows, kernel_columns, _ = required(inputs[1]).shape
        results = outputs[0].elements
        return Cost(macs=results * kernel_rows * kernel_columns, elementwise=results)
