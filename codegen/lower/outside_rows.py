"""Rows beyond an image: where a tensor has none, one constant row of their value stands for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.formats import storage_dtype
from codegen.lower.stages import PUSHED, Lowered, LoweredStage, Reading, Tensor


@dataclass(frozen=True, slots=True)
class Beyond:
    """For how many of the first and of the last rows of a result a pointer points beyond the tensor."""

    above: int
    below: int
    results: int

    @property
    def is_any(self) -> bool:
        return self.above + self.below > 0

    @property
    def is_all(self) -> bool:
        return self.above + self.below >= self.results


def rows_had(reading: Reading, tensor: Tensor) -> tuple[int, int]:
    """The first row that a tensor has for a reading, counted from the image's, and the one after the last."""
    fmt = reading.view or tensor.format
    pixels = tensor.image_rows * tensor.format.width * tensor.format.channels
    rows = pixels // (fmt.width * fmt.channels)
    return (-fmt.top, rows + fmt.bottom) if fmt.fill == reading.fill else (0, rows)


def beyond(reading: Reading, number: int, tensor: Tensor, results: int) -> Beyond:
    """Of the row pointer with that number, for that many rows of the result."""
    begin, end = rows_had(reading, tensor)
    rows = [reading.access.rows(row)[number] for row in range(results)]
    return Beyond(sum(row < begin for row in rows), sum(row >= end for row in rows), results)


def rows_outside(lowered: Lowered) -> Mapping[tuple[DType, int], int]:
    """Type and value of the elements of what layers read beyond images, and how many a row has at most."""
    longest: dict[tuple[DType, int], int] = {}
    for stage, reading in ((s, r) for s in lowered.stages for r in s.reads if r.tensor != PUSHED):
        tensor, results = lowered.tensors[reading.tensor], windows(stage, reading)
        fmt = reading.view or tensor.format
        if any(beyond(reading, n, tensor, results).is_any for n in range(reading.access.count)):
            key = storage_dtype(tensor.type, fmt), reading.fill
            longest[key] = max(longest.get(key, 0), fmt.row_elements)
    return longest


def windows(stage: LoweredStage, reading: Reading) -> int:
    """The number of steps that read a window of rows each: only these may hang over."""
    is_other = stage.kernel.accumulation is not None or stage.kernel.whole or bool(reading.access.given)
    return 0 if is_other or reading.tensor == PUSHED else stage.steps
