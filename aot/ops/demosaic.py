"""Demosaicing: converts a sensor's image with one color per pixel to red, green and blue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required

LEAST_SIDE = 3  # pixels; edge pixels copy the colors of their inner neighbors


class PixelPlace(IntEnum):
    """The color of a pixel in the mosaic. The two greens differ in the color next to them in the row."""

    RED = 0
    GREEN_IN_RED_ROW = 1
    GREEN_IN_BLUE_ROW = 2
    BLUE = 3


class Mosaic(Enum):
    """The colors of the first two pixels of the first row, and of the second row."""

    RGGB = "rggb"
    BGGR = "bggr"
    GRBG = "grbg"
    GBRG = "gbrg"

    @property
    def places(self) -> npt.NDArray[np.uint8]:
        """Returns the places at even and odd rows and columns, [row, column]."""
        rows = self.value[:2], self.value[2:]
        return np.array([[_PLACES[colour, "r" in row] for colour in row] for row in rows], np.uint8)


_PLACES = {
    ("r", True): PixelPlace.RED,
    ("g", True): PixelPlace.GREEN_IN_RED_ROW,
    ("g", False): PixelPlace.GREEN_IN_BLUE_ROW,
    ("b", False): PixelPlace.BLUE,
}


def _is_mosaic(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.dtype is DType.U8 and x.shape[3] == 1 and min(x.shape[1:3]) >= LEAST_SIDE
    return None if fits else f"it is {x.dtype.value} {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class Demosaic(Op):
    """Input: x [1, H, W, 1]. A missing color is the mean of the nearest pixels that have it, halves up.

    The outermost rows and columns copy their neighbors. Equals cv2.cvtColor bit for bit.
    """

    name: ClassVar[str] = "demosaic"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.rank_is(4),
        limits.BATCH_IS_ONE,
        Constraint("the input must be u8, of 1 channel and of at least 3x3 pixels", _is_mosaic),
    )
    mosaic: Mosaic = Mosaic.RGGB

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.U8.value, (*required(inputs[0]).shape[:-1], 3)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0])[0, :, :, 0].astype(np.int64)
        middle, across, down = x[1:-1, 1:-1], x[1:-1, :-2] + x[1:-1, 2:], x[:-2, 1:-1] + x[2:, 1:-1]
        corners = x[:-2, :-2] + x[:-2, 2:] + x[2:, :-2] + x[2:, 2:]
        means = middle, (across + 1) >> 1, (down + 1) >> 1, (corners + 2) >> 2
        rows, columns = (np.arange(1, size - 1) & 1 for size in x.shape)
        places = self.mosaic.places[rows][:, columns]
        is_green = (places == PixelPlace.GREEN_IN_RED_ROW) | (places == PixelPlace.GREEN_IN_BLUE_ROW)
        green = np.where(is_green, middle, (across + down + 2) >> 2)
        inside = np.stack([np.choose(places, means), green, np.choose(places, means[::-1])], axis=-1)
        return (np.pad(inside, ((1, 1), (1, 1), (0, 0)), mode="edge").astype(np.uint8)[None],)
