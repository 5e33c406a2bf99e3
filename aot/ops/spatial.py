"""Sliding windows over images: output sizes, explicit padding, and the pixels in each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation
from aot.ops.op import Constraint, Cost, Op, Types, required

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]  # (top, bottom), (left, right)
NO_PADDING: Padding = ((0, 0), (0, 0))


def extent(size: int, dilation: int) -> int:
    """Returns the number of input positions from a window's first tap to its last."""
    return (size - 1) * dilation + 1


def output_size(length: int, size: int, stride: int, dilation: int, padding: Pair) -> int:
    return (length + sum(padding) - extent(size, dilation)) // stride + 1


def same_padding(length: int, size: int, stride: int, dilation: int) -> Pair:
    """Returns the padding that gives ceil(length / stride) outputs; an odd one goes after."""
    outputs = -(-length // stride)
    total = max(0, (outputs - 1) * stride + extent(size, dilation) - length)
    return total // 2, total - total // 2


def pad(x: Array, padding: Padding, fill: float) -> Array:
    """Returns the NHWC image with padding of `fill` around it."""
    if padding == NO_PADDING:
        return x
    return np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=fill)


def patches(x: Array, size: Pair, stride: Pair, dilation: Pair) -> npt.NDArray[np.generic]:
    """Returns a view [N, out rows, out columns, C, kernel rows, kernel columns] of a padded NHWC image."""
    spans = extent(size[0], dilation[0]), extent(size[1], dilation[1])
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(1, 2))
    return windows[:, :: stride[0], :: stride[1], :, :: dilation[0], :: dilation[1]]


def _sees_pixels(op: Pool2d, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    for size, (before, after) in zip(op.size, op.padding, strict=True):
        if max(before, after) >= size:
            return f"a window of {size} with padding {before} and {after}"
    return None


WINDOW_SEES_PIXELS = Constraint("padding must be smaller than the window", _sees_pixels)


@dataclass(frozen=True, slots=True)
class Pool2d(Op):
    """Input: x [N, H, W, C]. Padding pixels are ignored."""

    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        limits.WINDOW_FITS,
        WINDOW_SEES_PIXELS,
        limits.INTEGERS_ARE_QUANTISED,
        limits.QUANTISATION_IS_KEPT,
    )
    size: Pair = (2, 2)
    stride: Pair = (2, 2)
    padding: Padding = NO_PADDING  # (top, bottom), (left, right)
    activation: Activation = Activation.NONE

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        n, height, width, channels = x.shape
        rows = output_size(height, self.size[0], self.stride[0], 1, self.padding[0])
        columns = output_size(width, self.size[1], self.stride[1], 1, self.padding[1])
        return ((x.dtype.value, (n, rows, columns, channels)),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements * self.size[0] * self.size[1])
