"""Blobs: cells of a grid that show one class and touch, with their class, the best score, the box around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required
from aot.ops.signal import numbers_within, types_are

CORNERS = 4  # left, top, right, bottom
_PARTS = CORNERS + 2  # of a blob: its corners, its class, its score
_MAX_RESULTS = 1 << 10


def _grid(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.rank == 4 and x.shape[0] == 1 and x.shape[3] >= 2
    return None if fits else limits.shape_text(x)


@dataclass
class Blob:
    """Corners are counted in cells; right and bottom lie behind the last."""

    left: int
    top: int
    right: int
    bottom: int
    kind: int
    score: np.float32

    def touches(self, other: Blob) -> bool:
        """True for blobs of one class whose boxes meet, at a corner too."""
        return (
            self.kind == other.kind
            and self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )

    def take(self, other: Blob) -> None:
        self.left, self.top = min(self.left, other.left), min(self.top, other.top)
        self.right, self.bottom = max(self.right, other.right), max(self.bottom, other.bottom)
        self.score = max(self.score, other.score)


def joined(found: list[Blob], most: int, blob: Blob) -> None:
    """Adds a blob to the first that it touches, else behind them, where there is room."""
    for earlier in found:
        if earlier.touches(blob):
            earlier.take(blob)
            return
    if len(found) < most:
        found.append(blob)


@dataclass(frozen=True, slots=True)
class Blobs(Op):
    """Input: scores [1, rows, columns, classes], of which the first is the background.

    Cells join the first blob that they touch, row by row; then blobs join the first before them that they
    touch. Where there are `count` blobs already, a cell that touches none is left out. Result: left, top,
    right and bottom of each blob in cells, then classes, counted behind the background, then scores, then
    how many there are; what is not there is 0.
    """

    name: ClassVar[str] = "blobs"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        types_are(DType.F32),
        Constraint("the scores must be [1, rows, columns, classes], with 2 classes or more", _grid),
        numbers_within(1, _MAX_RESULTS, "count"),
    )
    count: int = 1
    least: float = 0.5  # score

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.F32.value, (1, self.count * _PARTS + 1)),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        (scores,) = required(arrays[0])
        cells: list[Blob] = []
        for row, column, kind in np.argwhere(scores >= np.float32(self.least)).tolist():
            if kind > 0:
                cell = Blob(column, row, column + 1, row + 1, kind - 1, scores[row, column, kind])
                joined(cells, self.count, cell)
        blobs: list[Blob] = []
        for cell in cells:
            joined(blobs, self.count, cell)
        result = np.zeros(self.count * _PARTS + 1, np.float32)
        for number, blob in enumerate(blobs):
            corners = slice(number * CORNERS, (number + 1) * CORNERS)
            result[corners] = blob.left, blob.top, blob.right, blob.bottom
            result[self.count * CORNERS + number] = blob.kind
            result[self.count * (CORNERS + 1) + number] = blob.score
        result[-1] = len(blobs)
        return (result.reshape(1, -1),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[0]).elements * self.count + outputs[0].elements)
