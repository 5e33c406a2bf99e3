"""Lowered stages as the planner sees them: which rows each firing reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aot.plan.model import NO_ROWS, Firing, PlanTensor, Rows, Stage
from codegen.formats import has_margins
from codegen.kernels.kernel import Accumulation
from codegen.loops.ir import Role
from codegen.model import RowFormat
from codegen.outside_rows import rows_had
from codegen.stages import PUSHED, Lowered, LoweredStage, Reading, Tensor

_ROW_ALIGN = 4


def plan_tensors(lowered: Lowered, steady: bool) -> tuple[PlanTensor, ...]:
    return tuple(
        PlanTensor(
            t.name,
            t.rows,
            t.format.row_bytes,
            t.kind,
            max(_ROW_ALIGN, t.format.dtype_bytes),
            t.whole,
            steady and has_margins(t.format),
        )
        for t in lowered.tensors.values()
    )


def plan_stages(lowered: Lowered, work: Mapping[str, int]) -> tuple[Stage, ...]:
    """`work` is the multiplications of each node."""
    return tuple(
        replace(_plan_stage(stage, lowered.tensors), work=work[stage.node.name] if stage.node else 0)
        for stage in lowered.stages
    )


def _plan_stage(stage: LoweredStage, tensors: Mapping[str, Tensor]) -> Stage:
    if stage.kernel.accumulation is not None:
        return _accumulating_stage(stage, stage.kernel.accumulation, tensors)
    out = stage.result
    names = tuple(dict.fromkeys(r.tensor for r in stage.reads if r.tensor != PUSHED))
    if stage.kernel.whole:
        every = Firing(tuple(Rows(0, tensors[n].rows) for n in names), (out.rows_of(0, out.rows),))
        return Stage(stage.name, names, (stage.writes,), (every,), in_place=_in_place(stage, names))
    firings = []
    for row in range(out.image_rows):
        reads = tuple(_merged(stage, name, row, tensors) for name in names)
        first = 0 if row == 0 else out.format.top + row
        firings.append(Firing(reads, (out.rows_of(first, out.format.top + row + 1),)))
    if out.format.bottom:
        last = out.format.top + out.image_rows
        firings.append(Firing((NO_ROWS,) * len(names), (out.rows_of(last, last + out.format.bottom),)))
    return Stage(stage.name, names, (stage.writes,), tuple(firings), in_place=_in_place(stage, names))


def _in_place(stage: LoweredStage, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The tensors that the kernel may write its result over, however often it reads them."""
    params = [p for p in stage.kernel.proc.params if p.role is Role.ROWS]
    readings = list(zip(params, stage.reads, strict=True))
    kept = {r.tensor for p, r in readings if not p.overlaid or r.view is not None}
    return tuple((n, 0) for n, name in enumerate(names) if name not in kept)


def _accumulating_stage(
    stage: LoweredStage, accumulation: Accumulation, tensors: Mapping[str, Tensor]
) -> Stage:
    """A firing for each row of the input; the last one writes the result."""
    (reading,), out = stage.reads, stage.result
    tensor = tensors[reading.tensor]
    firings = [Firing((_row_added(reading, row, tensor),), (NO_ROWS,)) for row in range(accumulation.rows)]
    firings[-1] = Firing(firings[-1].reads, (out.rows_of(0, out.rows),))
    return Stage(
        stage.name, (reading.tensor,), (stage.writes,), tuple(firings), state_bytes=accumulation.bytes
    )


def _row_added(reading: Reading, row: int, tensor: Tensor) -> Rows:
    """The rows of the tensor that hold a row of the input as the stage sees it."""
    if reading.view is None:
        return Rows(tensor.format.top + row, tensor.format.top + row + 1)
    first = reading.view.top + row
    return _own_rows(first, first + 1, reading.view, tensor.format)


def _merged(stage: LoweredStage, name: str, row: int, tensors: Mapping[str, Tensor]) -> Rows:
    """The rows of a tensor that a firing reads, through whichever of its inputs."""
    every = [_rows_read(r, row, tensors[name]) for r in stage.reads if r.tensor == name]
    ranges = [rows for rows in every if rows]
    return Rows(min(r.first for r in ranges), max(r.stop for r in ranges)) if ranges else NO_ROWS


def _rows_read(reading: Reading, row: int, tensor: Tensor) -> Rows:
    """Of those that the tensor has; what lies beyond is a constant."""
    begin, end = rows_had(reading, tensor)
    numbers = reading.access.rows_inside(row, begin, end)
    if not numbers:
        return NO_ROWS
    first, stop = min(numbers), max(numbers) + 1
    if reading.view is None:
        return Rows(first + tensor.format.top, stop + tensor.format.top)
    return _own_rows(first + reading.view.top, stop + reading.view.top, reading.view, tensor.format)


def _own_rows(first: int, stop: int, view: RowFormat, own: RowFormat) -> Rows:
    """The rows of the tensor in which rows of a view lie."""
    return Rows(first * view.row_bytes // own.row_bytes, -(-stop * view.row_bytes // own.row_bytes))
