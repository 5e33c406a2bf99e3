"""Window, output sizes and cost, shared by average and maximum pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.op import Constraint, Cost, Op, Types, required
from aot.ops.spatial import NO_PADDING, Padding, Pair, output_size


@dataclass(frozen=True, slots=True)
class Pool2d(Op):
    """Input: x [N, H, W, C]. Padding pixels are ignored."""

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


def _sees_pixels(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Pool2d)
    for size, (before, after) in zip(op.size, op.padding, strict=True):
        if max(before, after) >= size:
            return f"a window of {size} with padding {before} and {after}"
    return None


WINDOW_SEES_PIXELS = Constraint("padding must be smaller than the window", _sees_pixels)
