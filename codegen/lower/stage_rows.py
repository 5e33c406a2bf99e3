"""Converts lowered stages for the planner: the rows that each step reads and writes, and their memories.

One constant row replaces all padding rows that a tensor does not store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from aot.errors import ModelError
from aot.ir.types import DType
from aot.plan.model import NO_ROWS, PlanTensor, Rows, Stage, Step
from codegen.formats import RowFormat, has_padding, storage_dtype
from codegen.kernels.kernel import ANYWHERE, Accumulation, MemoryDemand, Started
from codegen.loops.ir import Role
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor, Reading, Result


def demands_on_tensors(stages: Sequence[LoweredStage]) -> Mapping[str, MemoryDemand]:
    """Merges the demands on each tensor; omits tensors without any. Raises ModelError on a conflict."""
    found: dict[str, MemoryDemand] = {}
    choosers: dict[str, LoweredStage] = {}  # the last stage with a demand on a tensor's memory
    for stage in (stage for stage in stages if stage.kernel.demand != ANYWHERE):
        demand = stage.kernel.demand
        for name in dict.fromkeys((*(reading.tensor for reading in stage.reads), *stage.writes)):
            if name == STREAMED_ROW:
                continue
            before = found.get(name, ANYWHERE)
            memories = _common(before.memories, demand.memories)
            if memories is None:
                raise _irreconcilable(name, choosers[name], stage)
            if demand.memories:
                choosers[name] = stage
            found[name] = MemoryDemand(max(before.align, demand.align), memories)
    return found


def stage_label(stage: LoweredStage) -> str:
    """Names a stage for error messages: its op, its node and the accelerator."""
    return f'{stage.op} "{stage.name}" ({stage.kernel.device or stage.kernel.strategy})'


def _common(one: frozenset[str], other: frozenset[str]) -> frozenset[str] | None:
    """Returns the memories in both sets, or None if there are none. An empty set means all memories."""
    if not one or not other:
        return one or other
    return one & other or None


def _irreconcilable(tensor: str, one: LoweredStage, other: LoweredStage) -> ModelError:
    return ModelError(
        f"{stage_label(one)} and {stage_label(other)} cannot share a tensor: they reach different memories",
        f'both use the tensor "{tensor}"; the first reaches {_names(one)}, the second {_names(other)}',
    )


def _names(stage: LoweredStage) -> str:
    return ", ".join(sorted(stage.kernel.demand.memories))


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


_ROW_ALIGN = 4
_STAGES_KEPT = 512  # stages whose steps are cached: enough for the variants of a large graph


def plan_tensors(lowered: Lowered, keeps_padding: bool) -> tuple[PlanTensor, ...]:
    """Returns the tensors, each in memories that all its stages can access, else raises ModelError."""
    demands = demands_on_tensors(lowered.stages)
    return tuple(
        PlanTensor(
            t.name,
            t.rows,
            t.format.row_bytes,
            t.kind,
            max(_ROW_ALIGN, t.format.dtype_bytes, demands.get(t.name, ANYWHERE).align),
            t.whole,
            keeps_padding and has_padding(t.format),
            demands.get(t.name, ANYWHERE).memories,
        )
        for t in lowered.tensors.values()
    )


def plan_stages(lowered: Lowered, work: Mapping[str, int]) -> tuple[Stage, ...]:
    """Returns the stages; `work` is the number of multiplications of each node."""
    return tuple(
        replace(_plan_stage(stage, lowered.tensors), work=work[stage.node.name] if stage.node else 0)
        for stage in lowered.stages
    )


def _plan_stage(stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> Stage:
    if stage.kernel.accumulation is not None:
        return _accumulating_stage(stage, stage.kernel.accumulation, tensors)
    names = tuple(dict.fromkeys(r.tensor for r in stage.reads if r.tensor != STREAMED_ROW))
    if stage.kernel.whole:
        written = tuple(result.rows_of(0, result.rows) for result in stage.results)
        every = Step(tuple(Rows(0, tensors[n].rows) for n in names), written)
        started = stage.kernel.started
        return Stage(
            stage.name,
            names,
            stage.writes,
            (every,) if started is None else (_begun(stage, started, names, every), every),
            state_bytes=stage.kernel.state_bytes,
            scratch_bytes=stage.kernel.scratch_bytes,
            pools=stage.kernel.demand.memories,
            align=stage.kernel.demand.align,
            in_place=_in_place(stage, names),
            starts=started is not None,
        )
    sources = tuple(_sources(stage, tensors[name]) for name in names)
    return Stage(
        stage.name,
        names,
        stage.writes,
        _steps(sources, stage),
        state_bytes=stage.kernel.state_bytes,
        scratch_bytes=stage.kernel.scratch_bytes,
        pools=stage.kernel.demand.memories,
        align=stage.kernel.demand.align,
        in_place=_in_place(stage, names),
    )


@lru_cache(maxsize=_STAGES_KEPT)
def _steps_by_rows(
    sources: tuple[tuple[_Source, ...], ...], out: Result, count: int, each: int
) -> tuple[Step, ...]:
    """Returns the steps of a stage that computes `each` rows at a time. Most variants share them."""
    steps = []
    read = [_rows_by_step(its, count) for its in sources]
    for step in range(count):
        reads = tuple(rows[step] for rows in read)
        first = 0 if step == 0 else out.format.top + step * each
        steps.append(Step(reads, (out.rows_of(first, out.format.top + (step + 1) * each),)))
    if out.format.bottom:
        last = out.format.top + out.image_rows
        steps.append(Step((NO_ROWS,) * len(sources), (out.rows_of(last, last + out.format.bottom),)))
    return tuple(steps)


def _steps(sources: tuple[tuple[_Source, ...], ...], stage: LoweredStage) -> tuple[Step, ...]:
    if stage.kernel.spread is not None:
        return _spreading(sources, stage.result, stage.steps)
    return _steps_by_rows(sources, stage.result, stage.steps, stage.kernel.rows_per_step)


def _spreading(sources: Sequence[Sequence[_Source]], out: Result, count: int) -> tuple[Step, ...]:
    """Returns steps that each write a part of every row; the last finishes all rows."""
    read = [_rows_by_step(its, count) for its in sources]
    every = out.rows_of(0, out.rows)
    return tuple(
        Step(tuple(rows[step] for rows in read), (every if step in (0, count - 1) else NO_ROWS,))
        for step in range(count)
    )


def _begun(stage: LoweredStage, started: Started, names: Sequence[str], every: Step) -> Step:
    """Returns the step that starts a device: its arguments are in use from then on."""
    roles = {param.name: param.role for param in started.proc.params}
    given = {r.tensor for p, r in zip(stage.kernel.row_params, stage.reads, strict=True) if p.name in roles}
    results = [p.name for p in stage.kernel.proc.params if p.role is Role.OUTPUT]
    return Step(
        tuple(rows if name in given else NO_ROWS for name, rows in zip(names, every.reads, strict=True)),
        tuple(rows if y in roles else NO_ROWS for y, rows in zip(results, every.writes, strict=True)),
    )


def _in_place(stage: LoweredStage, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Returns the tensors that the kernel may overwrite with its result."""
    readings = list(zip(stage.kernel.row_params, stage.reads, strict=True))
    kept = {r.tensor for p, r in readings if not p.may_alias or r.view is not None}
    return tuple((n, 0) for n, name in enumerate(names) if name not in kept)


def _accumulating_stage(
    stage: LoweredStage, accumulation: Accumulation, tensors: Mapping[str, LoweredTensor]
) -> Stage:
    """Returns a stage with a step for each row of the input; the last step writes the result."""
    (reading,), out = stage.reads, stage.result
    tensor = tensors[reading.tensor]
    steps = [Step((_row_added(reading, row, tensor),), (NO_ROWS,)) for row in range(accumulation.rows)]
    steps[-1] = Step(steps[-1].reads, (out.rows_of(0, out.rows),))
    return Stage(
        stage.name,
        (reading.tensor,),
        stage.writes,
        tuple(steps),
        state_bytes=stage.kernel.state_bytes,
        scratch_bytes=stage.kernel.scratch_bytes,
    )


def _row_added(reading: Reading, row: int, tensor: LoweredTensor) -> Rows:
    """Returns the tensor's rows that hold one row of the input as the stage sees it."""
    if reading.view is None:
        return Rows(tensor.format.top + row, tensor.format.top + row + 1)
    first = reading.view.top + row
    return _own_rows(first, first + 1, reading.view, tensor.format)


@dataclass(frozen=True, slots=True)
class _Source:
    """A reading of a tensor, and the tensor's rows for it; rows outside are constants."""

    reading: Reading
    tensor: LoweredTensor
    begin: int
    end: int

    def rows_by_step(self, steps: int) -> Sequence[Rows]:
        """Returns the rows that each step reads; computed once for a matrix, which each reads whole."""
        access = self.reading.access
        if access.stride == 0 and not access.given:
            return [self._rows(0)] * steps
        return [self._rows(step) for step in range(steps)]

    def _rows(self, step: int) -> Rows:
        view, fmt = self.reading.view, self.tensor.format
        extent = self.reading.access.extent_inside(step, self.begin, self.end)
        if extent is None:
            return NO_ROWS
        first, stop = extent[0], extent[1] + 1
        if view is None:
            return Rows(first + fmt.top, stop + fmt.top)
        return _own_rows(first + view.top, stop + view.top, view, fmt)


def _sources(stage: LoweredStage, tensor: LoweredTensor) -> tuple[_Source, ...]:
    its = (reading for reading in stage.reads if reading.tensor == tensor.name)
    return tuple(_Source(reading, tensor, *stored_rows(reading, tensor)) for reading in its)


def _rows_by_step(sources: Sequence[_Source], steps: int) -> Sequence[Rows]:
    """Returns the rows of a tensor that each step reads, over all inputs that read it."""
    every = [source.rows_by_step(steps) for source in sources]
    return every[0] if len(every) == 1 else [_hull(ranges) for ranges in zip(*every, strict=True)]


def _hull(ranges: Sequence[Rows]) -> Rows:
    some = [rows for rows in ranges if rows]
    return Rows(min(r.first for r in some), max(r.stop for r in some)) if some else NO_ROWS


def _own_rows(first: int, stop: int, view: RowFormat, own: RowFormat) -> Rows:
    """Returns the tensor's rows that contain the given rows of a view."""
    return Rows(first * view.row_bytes // own.row_bytes, -(-stop * view.row_bytes // own.row_bytes))
