"""Rows outside an image: one constant row replaces all padding rows that a tensor does not store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.formats import storage_dtype
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor, Reading


@dataclass(frozen=True, slots=True)
class OutOfImage:
    """Counts the first and last rows of a result for which a row pointer is outside the tensor."""

    above: int
    below: int
    results: int

    @property
    def is_any(self) -> bool:
        return self.above + self.below > 0

    @property
    def is_all(self) -> bool:
        return self.above + self.below >= self.results


def stored_rows(reading: Reading, tensor: LoweredTensor) -> tuple[int, int]:
    """Returns the first row that a tensor stores for a reading, counted from the image's, and the end."""
    fmt = reading.view or tensor.format
    pixels = tensor.image_rows * tensor.format.width * tensor.format.channels
    rows = pixels // (fmt.width * fmt.channels)
    return (-fmt.top, rows + fmt.bottom) if fmt.fill == reading.fill else (0, rows)


def out_of_image(reading: Reading, number: int, tensor: LoweredTensor, results: int) -> OutOfImage:
    """Counts the rows of the result for which that row pointer is outside."""
    begin, end = stored_rows(reading, tensor)
    rows = [reading.access.row(row, number) for row in range(results)]
    return OutOfImage(sum(row < begin for row in rows), sum(row >= end for row in rows), results)


def rows_outside(lowered: Lowered) -> Mapping[tuple[DType, int], int]:
    """Returns rows that layers read outside images: (type, value) of elements -> most elements in a row."""
    longest: dict[tuple[DType, int], int] = {}
    for stage, reading in ((s, r) for s in lowered.stages for r in s.reads if r.tensor != STREAMED_ROW):
        tensor, results = lowered.tensors[reading.tensor], windows(stage, reading)
        fmt = reading.view or tensor.format
        if any(out_of_image(reading, n, tensor, results).is_any for n in range(reading.access.count)):
            key = storage_dtype(tensor.type, fmt), reading.fill
            longest[key] = max(longest.get(key, 0), fmt.row_elements)
    return longest


def windows(stage: LoweredStage, reading: Reading) -> int:
    """Returns the number of steps that read a window of rows: only these may extend past the image."""
    is_other = stage.kernel.accumulation is not None or stage.kernel.whole or bool(reading.access.given)
    return 0 if is_other or reading.tensor == STREAMED_ROW else stage.steps
