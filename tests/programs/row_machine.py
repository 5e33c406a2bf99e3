"""Runs a lowered graph with the loop interpreter, every row in memory of its own: no C, no plan."""

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array
from aot.plan.model import Kind
from aot.plan.model import Rows as PlanRows
from codegen.formats import RowFormat, storage_dtype
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Proc, Role
from codegen.lower.stage_rows import stored_rows
from codegen.lower.stages import Lowered, LoweredStage, LoweredTensor, Reading

Rows = list[Array]


def run_lowered(
    lowered: Lowered, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Outputs, and states as they are afterwards, by name. A step past a row's end raises IndexError.

    An output that is a view has the shape of what it shows.
    """
    memory: dict[str, Rows] = {}
    states = states or {}
    for tensor in lowered.tensors.values():
        memory[tensor.name] = _empty(tensor)
        if tensor.kind is Kind.INPUT:
            memory[tensor.name] = list(inputs[tensor.name].reshape(tensor.image_rows, -1).copy())
        if tensor.kind is Kind.STATE:
            memory[tensor.name] = list(states[tensor.name].reshape(tensor.image_rows, -1).copy())
    for stage in lowered.stages:
        _run_stage(lowered, stage, memory)
    made = [t for t in lowered.tensors.values() if t.kind in (Kind.OUTPUT, Kind.STATE)]
    return {t.name: np.concatenate(memory[t.name]).reshape(t.type.shape) for t in made}


def _empty(tensor: LoweredTensor) -> Rows:
    dtype = storage_dtype(tensor.type, tensor.format).numpy
    return [np.full(tensor.format.row_elements, tensor.format.fill, dtype) for _ in range(tensor.rows)]


def _run_stage(lowered: Lowered, stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """Every step: one row of the result each, or one row of the input each where sums grow."""
    growing = stage.kernel.accumulation
    if stage.kernel.whole:
        _run_whole(stage, memory)
        return
    if stage.kernel.spread is not None:
        _run_spread(lowered, stage, memory)
        return
    if growing is None:
        _run_steps(lowered, stage, memory)
        return
    sums = {"sums": [np.full(growing.elements, 0x55555555, growing.dtype.numpy)]}
    for row in range(growing.rows):
        last = row == growing.rows - 1
        procs = (
            ((growing.start,) if row == 0 else ())
            + (stage.kernel.proc,)
            + ((growing.finish,) if last else ())
        )
        for proc in procs:
            output_row = 0 if proc is growing.finish else row
            _run_proc(lowered, stage, proc, output_row, memory, sums)


def _run_steps(lowered: Lowered, stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """A row of the result each; a state begins ahead of the first step."""
    carried, kept = stage.kernel.carried, dict[str, Rows]()
    if carried is not None:
        kept[carried.state.name] = [np.full(carried.state.elements, 0x55, carried.state.dtype.numpy)]
        _run_proc(lowered, stage, carried.start, 0, memory, kept)
    for step in range(stage.steps):
        _run_proc(lowered, stage, stage.kernel.proc, step, memory, kept)


def _run_spread(lowered: Lowered, stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """Parts of the whole result, of which each lies so far behind the one before."""
    assert stage.kernel.spread is not None
    (y,) = (param for param in stage.kernel.proc.params if param.role is Role.OUTPUT)
    written = _own(memory[stage.result.tensor], stage.result.rows_of(0, stage.result.rows))
    made = np.concatenate(written)
    for step in range(stage.steps):
        first = stage.kernel.spread.first(step)
        part = made[first : first + y.elements]
        assert len(part) == y.elements, "a step goes past the end of the result"
        run_proc(stage.kernel.proc, _buffers(lowered, stage, stage.kernel.proc, step, [part], memory))
    _put_back(made, written)


def _run_proc(
    lowered: Lowered,
    stage: LoweredStage,
    proc: Proc,
    row: int,
    memory: Mapping[str, Rows],
    sums: Mapping[str, Rows],
) -> None:
    """A row of the result may be several rows of the tensor, and a step may make several rows."""
    top, is_adding = stage.result.format.top, all(p.role is not Role.OUTPUT for p in proc.params)
    each = stage.kernel.rows_per_step
    places = [top + row * each + n for n in range(each)]
    written = [_own(memory[stage.result.tensor], stage.result.rows_of(place, place + 1)) for place in places]
    made = [np.zeros(0) if is_adding else np.concatenate(rows) for rows in written]
    run_proc(proc, {**_buffers(lowered, stage, proc, row, made, memory), **sums})
    if not is_adding:
        for mine, rows in zip(made, written, strict=True):
            _put_back(mine, rows)


def _own(rows: Rows, which: PlanRows) -> Rows:
    return rows[which.first : which.stop]


def _put_back(made: Array, rows: Rows) -> None:
    for row, part in zip(rows, np.split(made, len(rows)), strict=True):
        row[:] = part


def _run_whole(stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """The only step of a kernel that takes tensors in one piece."""
    readings = iter(stage.reads)
    written = _own(memory[stage.result.tensor], stage.result.rows_of(0, stage.result.rows))
    made = np.concatenate(written)
    buffers: dict[str, Rows] = {}
    for param in stage.kernel.proc.params:
        if param.role is Role.ROWS:
            buffers[param.name] = [np.concatenate(memory[next(readings).tensor])]
        elif param.role is Role.SCRATCH:
            buffers[param.name] = [np.full(param.elements, 0x55, param.dtype.numpy)]
        else:
            buffers[param.name] = [made if param.role is Role.OUTPUT else stage.kernel.constants[param.name]]
    run_proc(stage.kernel.proc, buffers)
    _put_back(made, written)


def _buffers(
    lowered: Lowered, stage: LoweredStage, proc: Proc, row: int, made: Rows, memory: Mapping[str, Rows]
) -> dict[str, Rows]:
    """Pointers to the rows that a step touches, as the generated layer makes them."""
    readings = {p.name: r for p, r in zip(stage.kernel.row_params, stage.reads, strict=True)}
    buffers: dict[str, Rows] = {}
    for param in proc.params:
        if param.role is Role.ROWS:
            buffers[param.name] = _rows_read(lowered, readings[param.name], row, memory)
        elif param.role is Role.OUTPUT:
            buffers[param.name] = made
        elif param.role is Role.SCRATCH:
            buffers[param.name] = [np.full(param.elements, 0x55, param.dtype.numpy)]
        elif param.role is Role.CONSTANT:
            data, per_row = stage.kernel.constants[param.name], stage.kernel.row_tables.get(param.name)
            cycle = stage.kernel.row_cycles.get(param.name)
            part = row if cycle is None else cycle.of(row)
            buffers[param.name] = [data if per_row is None else data[part * per_row :]]
    return buffers


def _rows_read(lowered: Lowered, reading: Reading, row: int, memory: Mapping[str, Rows]) -> Rows:
    tensor = lowered.tensors[reading.tensor]
    fmt = reading.view or tensor.format
    flat, size = np.concatenate(memory[reading.tensor]), fmt.row_elements
    begin, end = stored_rows(reading, tensor)
    return [
        flat[(n + fmt.top) * size :][:size] if begin <= n < end else _outside(reading, fmt, flat)
        for n in reading.access.rows(row)
    ]


def _outside(reading: Reading, fmt: RowFormat, like: Array) -> Array:
    """A row beyond the image that the tensor does not have."""
    return np.full(fmt.row_elements, reading.fill, like.dtype)
