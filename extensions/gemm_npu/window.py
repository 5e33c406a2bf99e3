"""A window that moves over an image: its sizes, and what is made of the pixels under it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from extensions.gemm_npu.machine import LANES

Pair = tuple[int, int]
SCALE_VECTORS = 3  # of one scaling of 16 channels: where sums begin, multipliers, shifts


@dataclass(frozen=True, slots=True)
class Clip:
    """The zero point that is added to results, and the least and the greatest one."""

    zero_point: int = 0
    least: int = -128
    greatest: int = 127


class WindowResult(Enum):
    """The ways to make a result of the pixels under a window."""

    PRODUCTS = "the sum of pixels times weights"
    MEAN = "the mean of the pixels under the window that are not padding"
    LARGEST = "the largest pixel under the window"


@dataclass(frozen=True)
class NpuWindow:
    """All that decides a layer's instructions; weights are elsewhere."""

    x: tuple[int, int, int]  # rows, columns, channels
    y: tuple[int, int, int]
    taps: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    before: Pair = (0, 0)  # rows and columns of padding
    fill: int = 0  # what padding holds
    is_depthwise: bool = False
    made: WindowResult = WindowResult.PRODUCTS
    clip: Clip = Clip()

    @property
    def has_weights(self) -> bool:
        """Says whether each tap has weights of its own; else all share one tile."""
        return self.made is WindowResult.PRODUCTS

    @property
    def blocks(self) -> int:
        """Vectors of the result's channels."""
        return blocks(self.y[2])

    @property
    def depth_blocks(self) -> int:
        """Vectors of the input's channels that one vector of the result is made of."""
        return 1 if self.is_depthwise else blocks(self.x[2])

    @property
    def tiles_of_block(self) -> int:
        """Tiles of weights for 16 channels of the result."""
        return self.taps[0] * self.taps[1] * self.depth_blocks

    @property
    def micro_operations(self) -> int:
        return 1 + self.tiles_of_block

    @property
    def scale_vectors(self) -> int:
        """Each 16 channels have theirs, of means each count; a largest pixel is not scaled."""
        scalings = {
            WindowResult.PRODUCTS: self.blocks,
            WindowResult.MEAN: len(self.counts) if self.made is WindowResult.MEAN else 0,
            WindowResult.LARGEST: 0,
        }
        return SCALE_VECTORS * scalings[self.made]

    @cached_property
    def seen(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rows of the image under the window for each row of the result, and so the columns."""
        return self._seen(0), self._seen(1)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of pixels that means are made of, the least first: at the edges there are fewer."""
        rows, columns = (set(each) for each in self.seen)
        return tuple(sorted({row * column for row in rows for column in columns}))

    def reach(self, axis: int, results: int) -> int:
        """The rows (0) or columns (1) of the image under that many of the result."""
        return (results - 1) * self.stride[axis] + (self.taps[axis] - 1) * self.dilation[axis] + 1

    def _seen(self, axis: int) -> tuple[int, ...]:
        begins = (n * self.stride[axis] - self.before[axis] for n in range(self.y[axis]))
        return tuple(min(at + self.taps[axis], self.x[axis]) - max(at, 0) for at in begins)


def blocks(channels: int) -> int:
    return -(-channels // LANES)
