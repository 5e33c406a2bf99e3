"""Runs a lowered graph with the loop interpreter, every row in memory of its own: no C, no plan."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.graph import Array
from aot.plan.model import Kind
from codegen.formats import storage_dtype
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Proc, Role
from codegen.stages import Lowered, LoweredStage, Reading, Tensor

Rows = list[Array]


def run_lowered(
    lowered: Lowered, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Outputs, and states as they are afterwards, by name. A step past a row's end raises IndexError."""
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


def _empty(tensor: Tensor) -> Rows:
    dtype = storage_dtype(tensor.type, tensor.format).numpy
    return [np.full(tensor.format.row_elements, tensor.format.fill, dtype) for _ in range(tensor.rows)]


def _run_stage(lowered: Lowered, stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """Every firing: one row of the result each, or one row of the input each where sums grow."""
    growing = stage.kernel.accumulation
    if stage.kernel.whole:
        _run_whole(stage, memory)
        return
    if growing is None:
        for row in range(lowered.tensors[stage.writes].image_rows):
            run_proc(stage.kernel.proc, _buffers(lowered, stage, stage.kernel.proc, row, memory))
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
            run_proc(proc, {**_buffers(lowered, stage, proc, output_row, memory), **sums})


def _run_whole(stage: LoweredStage, memory: Mapping[str, Rows]) -> None:
    """The only firing of a kernel that takes tensors in one piece."""
    readings = iter(stage.reads)
    made = np.concatenate(memory[stage.writes])
    buffers: dict[str, Rows] = {}
    for param in stage.kernel.proc.params:
        if param.role is Role.ROWS:
            buffers[param.name] = [np.concatenate(memory[next(readings).tensor])]
        else:
            buffers[param.name] = [made if param.role is Role.OUTPUT else stage.kernel.constants[param.name]]
    run_proc(stage.kernel.proc, buffers)
    memory[stage.writes][:] = np.split(made, len(memory[stage.writes]))


def _buffers(
    lowered: Lowered, stage: LoweredStage, proc: Proc, row: int, memory: Mapping[str, Rows]
) -> dict[str, Rows]:
    """Pointers to the rows that a firing touches, as the generated layer makes them."""
    readings = iter(stage.reads)
    buffers: dict[str, Rows] = {}
    for param in proc.params:
        if param.role is Role.ROWS:
            buffers[param.name] = _rows_read(lowered, next(readings), row, memory)
        elif param.role is Role.OUTPUT:
            buffers[param.name] = [memory[stage.writes][lowered.tensors[stage.writes].format.top + row]]
        elif param.role is Role.CONSTANT:
            data, per_row = stage.kernel.constants[param.name], stage.kernel.row_tables.get(param.name)
            turns = stage.kernel.row_turns.get(param.name)
            part = row if turns is None else turns.of(row)
            buffers[param.name] = [data if per_row is None else data[part * per_row :]]
    return buffers


def _rows_read(lowered: Lowered, reading: Reading, row: int, memory: Mapping[str, Rows]) -> Rows:
    numbers, rows = reading.access.rows(row), memory[reading.tensor]
    if reading.view is None:
        top = lowered.tensors[reading.tensor].format.top
        return [rows[n + top] if n + top >= 0 else _missing(reading, n) for n in numbers]
    flat = np.concatenate(rows)
    size = reading.view.row_elements
    places = [(n + reading.view.top) * size for n in numbers]
    return [flat[place : place + size] for place in places]


def _missing(reading: Reading, number: int) -> Array:
    raise IndexError(f"row {number} of {reading.tensor} does not exist")
