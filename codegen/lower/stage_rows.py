"""Converts lowered stages for the planner: the rows that each step reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from aot.plan.model import NO_ROWS, PlanTensor, Rows, Stage, Step
from codegen.formats import RowFormat, has_padding
from codegen.kernels.kernel import ANYWHERE, Accumulation, Started
from codegen.loops.ir import Role
from codegen.lower.memory_demands import demands_on_tensors
from codegen.lower.outside_rows import stored_rows
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor, Reading, Result

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
