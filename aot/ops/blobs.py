"""Blobs: touching grid cells of one class, with their class, best score and bounding box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.signal import numbers_within, types_are

CORNERS = 4  # left, top, right, bottom
_PARTS = CORNERS + 2  # per blob: corners, class, score
_MAX_RESULTS = 1 << 10


def _grid(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.rank == 4 and x.shape[0] == 1 and x.shape[3] >= 2
    return None if fits else limits.shape_text(x)


@dataclass
class Blob:
    """A box in cells; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int
    kind: int
    score: np.float32

    def touches(self, other: Blob) -> bool:
        """Returns whether the other blob has the same class and its box touches this one, even at a corner"""
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
    """Merges a blob into the first one that it touches; otherwise appends it if fewer than `most` exist."""
    for earlier in found:
        if earlier.touches(blob):
            earlier.take(blob)
            return
    if len(found) < most:
        found.append(blob)


@dataclass(frozen=True, slots=True)
class Blobs(Op):
    """Input: scores [1, rows, columns, classes]; the first class is the background.

    Cells are merged, row by row, into the first blob that they touch; then each blob is merged into the
    first earlier blob that it touches. Once there are `count` blobs, cells that touch none are dropped.

    Output: left, top, right and bottom of each blob in cells; then classes, numbered without the background;
    then scores; then the number of blobs. Unused entries are 0.
    """

    name: ClassVar[str] = "blobs"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        types_are(DType.F32),
        Constraint("the scores must be [1, rows, columns, classes], with 2 classes or more", _grid),
        numbers_within(1, _MAX_RESULTS, "count"),
    )
    count: int = 1
    least: float = 0.5  # smallest score

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.F32.value, (1, self.count * _PARTS + 1)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
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
