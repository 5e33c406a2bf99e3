"""Detection: the boxes with the best scores, without any that overlap a better one too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

CORNERS = 4  # top, left, bottom, right
_PARTS = CORNERS + 2  # per detection: corners, class, score
_FloatArray = npt.NDArray[np.float32]


def _vectors(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(t) for t in inputs]
    boxes, scores, kinds = found[0], found[CORNERS], found[CORNERS + 1 :]
    is_list = boxes.rank == 2 and boxes.shape[0] == 1 and all(t.shape == boxes.shape for t in found[:CORNERS])
    if kinds:
        fits = scores.shape == boxes.shape and kinds[0].shape == boxes.shape
    else:
        fits = scores.rank == 3 and scores.shape[:2] == boxes.shape
    are_real = all(t.dtype is DType.F32 for t in found[: CORNERS + 1])
    if is_list and fits and are_real and all(t.dtype is DType.I32 for t in kinds):
        return None
    return ", ".join(f"{t.dtype.value} {limits.shape_text(t)}" for t in found)


def _attributes(op: Detect, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    if not 1 <= op.count <= _MAX_RESULTS:
        return f"{op.count} detections"
    return None if 0 < op.overlap <= 1 else f"an overlap of {op.overlap}"


_MAX_RESULTS = 1 << 10


def overlap(corners: _FloatArray, one: int, others: npt.NDArray[np.int64]) -> _FloatArray:
    """Returns intersection over union of a box with each of the others, in single precision."""
    top, left, bottom, right = corners
    area = np.asarray((bottom - top) * (right - left), np.float32)
    height = np.minimum(bottom[one], bottom[others]) - np.maximum(top[one], top[others])
    width = np.minimum(right[one], right[others]) - np.maximum(left[one], left[others])
    shared = np.maximum(height, np.float32(0)) * np.maximum(width, np.float32(0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = shared / (area[one] + area[others] - shared)
    shares: _FloatArray = np.where((area[one] <= 0) | (area[others] <= 0), np.float32(0), ratio)
    return shares


@dataclass(frozen=True, slots=True)
class Detect(Op):
    """Inputs: top, left, bottom, right, each [1, boxes]; scores, classes, or scores of each class.

    Among equal scores the first box wins. Output: the corners of each detection, then the classes, then the
    scores, then the number of detections. Unused entries are 0.
    """

    name: ClassVar[str] = "detect"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(5, 6),
        Constraint(
            "corners and scores must be f32, classes i32, all of shape [1, boxes]; "
            "without classes, scores must be [1, boxes, classes]",
            _vectors,
        ),
        Constraint("there must be 1 to 1024 detections and an overlap above 0 and at most 1", _attributes),
    )
    count: int = 1
    least: float = 0.0  # smallest score
    overlap: float = 0.5  # largest allowed overlap with a better box
    by_class: bool = False  # boxes of different classes may overlap

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.F32.value, (1, self.count * _PARTS + 1)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        vectors = [required(a).reshape(-1) for a in arrays]
        scores = vectors[CORNERS]
        each = scores.size // max(1, vectors[0].size)  # scores per box
        corners = np.repeat(np.stack(vectors[:CORNERS]).astype(np.float32), each, axis=1)
        kinds = vectors[-1] if len(vectors) > CORNERS + 1 else np.arange(scores.size) % each
        kinds = kinds.astype(np.float32)
        chosen = self._chosen(corners, scores, kinds)
        result = np.zeros(self.count * _PARTS + 1, np.float32)
        for number, box in enumerate(chosen):
            result[number * CORNERS : (number + 1) * CORNERS] = corners[:, box]
            result[self.count * CORNERS + number] = kinds[box]
            result[self.count * (CORNERS + 1) + number] = scores[box]
        result[-1] = len(chosen)
        return (result.reshape(1, -1),)

    def _chosen(self, corners: _FloatArray, scores: Array, kinds: Array) -> list[int]:
        order = np.argsort(np.negative(scores.astype(np.float32)), kind="stable")
        left = order[scores[order] >= np.float32(self.least)]
        chosen: list[int] = []
        while left.size and len(chosen) < self.count:
            best, left = int(left[0]), left[1:]
            chosen.append(best)
            may_stay = overlap(corners, best, left) <= np.float32(self.overlap)
            left = left[may_stay | (kinds[left] != kinds[best])] if self.by_class else left[may_stay]
        return chosen

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[CORNERS]).elements * self.count + outputs[0].elements)
