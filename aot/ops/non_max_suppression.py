"""Non-maximum suppression: the best boxes of each class, without any that overlap a better one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.detect import CORNERS, overlap
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

PLACE = 3  # per chosen box: batch, class, box number
MOST_ROWS = 1 << 16
_FloatArray = npt.NDArray[np.float32]


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    boxes, scores = required(inputs[0]), required(inputs[1])
    is_list = boxes.rank == 3 and boxes.shape[2] == CORNERS
    fits = scores.rank == 3 and (scores.shape[0], scores.shape[2]) == boxes.shape[:2]
    if is_list and fits and boxes.dtype is scores.dtype is DType.F32:
        return None
    return ", ".join(f"{t.dtype.value} {limits.shape_text(t)}" for t in (boxes, scores))


def _attributes(op: NonMaxSuppression, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    boxes, rows = required(inputs[0]).shape[1], op.rows(required(inputs[1]).shape)
    if not 1 <= op.each <= boxes:
        return f"{op.each} of {boxes} boxes"
    if rows > MOST_ROWS:
        return f"{rows:,} rows"
    return None if 0 <= op.overlap <= 1 else f"an overlap of {op.overlap}"


def sides(boxes: _FloatArray, centred: bool) -> _FloatArray:
    """Returns top, left, bottom and right of boxes [boxes, 4]."""
    one, other = boxes[:, :2], boxes[:, 2:]
    pair = [np.minimum(one, other), np.maximum(one, other)]
    if centred:
        half = other * np.float32(0.5)
        pair = [(one - half)[:, ::-1], (one + half)[:, ::-1]]
    found: _FloatArray = np.concatenate(pair, axis=1).T
    return found


@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Op):
    """Inputs: boxes [batches, boxes, 4], scores [batches, classes, boxes].

    A box is two opposite corners, y before x, or its center, width and height. Output: batch, class and
    number of each chosen box, best first within a class (among equal scores the first), then the number of
    chosen boxes. Unused rows are 0. Boxes with an infinite or NaN score are never chosen.
    """

    name: ClassVar[str] = "non_max_suppression"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        Constraint(
            "boxes must be f32 [batches, boxes, 4], scores f32 [batches, classes, boxes]",
            _shapes,
        ),
        Constraint(
            "1 to all boxes of a class may be chosen, at most 65,536 in total, with an overlap of 0 to 1",
            _attributes,
        ),
    )
    each: int = 1  # most boxes per class and batch
    least: float = 0.0  # smallest score
    overlap: float = 0.5  # largest allowed overlap with a better box
    centred: bool = False  # boxes are x and y of the center, width and height

    def rows(self, scores: tuple[int, ...]) -> int:
        """Returns the largest number of boxes that can be chosen."""
        return scores[0] * scores[1] * self.each

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.I32.value, (self.rows(required(inputs[1]).shape) * PLACE + 1,)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        boxes, scores = (required(a).astype(np.float32) for a in arrays)
        places = [
            (batch, kind, box)
            for batch, kind in np.ndindex(*scores.shape[:2])
            for box in self._chosen(sides(boxes[batch], self.centred), scores[batch, kind])
        ]
        result = np.zeros(outputs[0].shape, np.int32)
        result[: len(places) * PLACE] = np.array(places, np.int32).reshape(-1)
        result[-1] = len(places)
        return (result,)

    def _chosen(self, corners: _FloatArray, scores: _FloatArray) -> list[int]:
        order = np.argsort(np.negative(scores), kind="stable")
        left = order[(scores[order] >= np.float32(self.least)) & np.isfinite(scores[order])]
        chosen: list[int] = []
        while left.size and len(chosen) < self.each:
            best, left = int(left[0]), left[1:]
            chosen.append(best)
            left = left[overlap(corners, best, left) <= np.float32(self.overlap)]
        return chosen

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[1]).elements * self.each + outputs[0].elements)
