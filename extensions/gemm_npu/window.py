"""A window that slides over an image: its sizes, and the operation on its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from extensions.gemm_npu.machine import LANES

Pair = tuple[int, int]
SCALE_VECTORS = 3  # to scale 16 channels: start values of sums, multipliers, shifts


@dataclass(frozen=True, slots=True)
class Clip:
    """The zero point to add to results, and their minimum and maximum."""

    zero_point: int = 0
    least: int = -128
    greatest: int = 127


class WindowResult(Enum):
    """How a result is computed from the pixels under a window."""

    PRODUCTS = "the sum of pixels times weights"
    MEAN = "the mean of the pixels under the window that are not padding"
    LARGEST = "the largest pixel under the window"


@dataclass(frozen=True)
class NpuWindow:
    """The parameters of a layer's instructions, without weights."""

    x: tuple[int, int, int]  # rows, columns, channels
    y: tuple[int, int, int]
    taps: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    before: Pair = (0, 0)  # rows and columns of padding
    fill: int = 0  # value of the padding
    is_depthwise: bool = False
    made: WindowResult = WindowResult.PRODUCTS
    clip: Clip = Clip()

    @property
    def has_weights(self) -> bool:
        """Returns True if each tap has separate weights; otherwise all share one tile."""
        return self.made is WindowResult.PRODUCTS

    @property
    def blocks(self) -> int:
        """Returns the number of vectors of the result's channels."""
        return blocks(self.y[2])

    @property
    def depth_blocks(self) -> int:
        """Returns the number of input vectors per result vector."""
        return 1 if self.is_depthwise else blocks(self.x[2])

    @property
    def tiles_of_block(self) -> int:
        """Returns the number of weight tiles for 16 channels of the result."""
        return self.taps[0] * self.taps[1] * self.depth_blocks

    @property
    def micro_operations(self) -> int:
        return 1 + self.tiles_of_block

    @property
    def scale_vectors(self) -> int:
        """Returns the number of scale vectors: per 16 channels, or per pixel count for means, or 0."""
        scalings = {
            WindowResult.PRODUCTS: self.blocks,
            WindowResult.MEAN: len(self.counts) if self.made is WindowResult.MEAN else 0,
            WindowResult.LARGEST: 0,
        }
        return SCALE_VECTORS * scalings[self.made]

    @cached_property
    def seen(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns how many image rows are under the window for each result row, and the same for columns."""
        return self._seen(0), self._seen(1)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Returns the different pixel counts of means, ascending. Windows at the edges have fewer pixels."""
        rows, columns = (set(each) for each in self.seen)
        return tuple(sorted({row * column for row in rows for column in columns}))

    def reach(self, axis: int, results: int) -> int:
        """Returns how many rows (axis 0) or columns (axis 1) of the image `results` of the result cover."""
        return (results - 1) * self.stride[axis] + (self.taps[axis] - 1) * self.dilation[axis] + 1

    def _seen(self, axis: int) -> tuple[int, ...]:
        begins = (n * self.stride[axis] - self.before[axis] for n in range(self.y[axis]))
        return tuple(min(at + self.taps[axis], self.x[axis]) - max(at, 0) for at in begins)


def blocks(channels: int) -> int:
    return -(-channels // LANES)
