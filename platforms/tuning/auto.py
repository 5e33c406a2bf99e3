"""A loop nest without a schedule as a task: sketches give its space, the loop interpreter its truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array
from codegen.kernels.kernel import Kernel, RowAccess
from codegen.kernels.knobs import Knob, Point, Space
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Buffer, Proc, Role
from codegen.loops.sketches import FACTORS, TURNS, Steps, apply, as_python, schedules, sketches
from codegen.lower import LoweredStage
from platforms.tuning.tasks import Experiment, Operand, Task

_NAIVE: Point = {"sketch": 1, "outer": 1, "inner": 1, "turns": 1}


@dataclass(frozen=True)
class AutoTask:
    """A nest to be scheduled."""

    task: Task
    experiment: Experiment
    schedules: Mapping[tuple[int, int, int, int], Steps]

    def as_python(self, point: Point) -> str:
        """The schedule of a point, to be pasted into a kernel."""
        return as_python(self.schedules[_key(point)])


def auto_task(proc: Proc, seed: int = 0) -> AutoTask:
    """For a nest of ROWS, constants and one output; its inputs are random."""
    found = schedules(proc)
    knobs = (
        Knob("sketch", tuple(range(1, len(sketches(proc)) + 1))),
        Knob("outer", FACTORS),
        Knob("inner", FACTORS),
        Knob("turns", TURNS),
    )
    task = f"auto {proc.name}"
    space = Space(task, knobs, _NAIVE, lambda point: _key(point) in found)
    memory = _memory(proc, seed)
    constants = {p.name: memory[p.name][0] for p in proc.params if p.role is Role.CONSTANT}

    def scheduled(tuned: Mapping[str, Point]) -> Kernel:
        point = space.chosen(tuned)
        made = apply(proc, found[_key(point)])
        rows = tuple(RowAccess(0, 0, p.rows) for p in proc.params if p.role is Role.ROWS)
        return Kernel("auto", "searched", made, "", rows, constants, space=space, point=point)

    stage = LoweredStage(proc.name, None, proc.name, scheduled({}), (), "", scheduled)
    whole = Task(task, proc.name, space, stage, layers=1, firings=1, work=0.0)
    return AutoTask(whole, _experiment(proc, memory), found)


def _key(point: Point) -> tuple[int, int, int, int]:
    return point["sketch"], point["outer"], point["inner"], point["turns"]


def _memory(proc: Proc, seed: int) -> dict[str, list[Array]]:
    rng = np.random.default_rng(seed)
    return {p.name: [_random(p, rng) for _ in range(p.rows)] for p in proc.params}


def _random(buffer: Buffer, rng: np.random.Generator) -> Array:
    """The output begins as zeros."""
    if buffer.role is Role.OUTPUT:
        return np.zeros(buffer.elements, buffer.dtype.numpy)
    return rng.integers(-128, 128, buffer.elements).astype(buffer.dtype.numpy)


def _experiment(proc: Proc, memory: dict[str, list[Array]]) -> Experiment:
    (out,) = (p for p in proc.params if p.role is Role.OUTPUT)
    made = {name: [row.copy() for row in rows] for name, rows in memory.items()}
    run_proc(proc, made)
    return Experiment(
        operands=tuple(
            Operand(b"".join(row.tobytes() for row in memory[p.name]), p.dtype.c_name, p.elements)
            for p in proc.params
            if p.role is Role.ROWS
        ),
        expected=made[out.name][0].tobytes(),
        firings=1,
        first_firing=0,
        c_type=out.dtype.c_name,
        row_elements=out.elements,
        fill=bytes(out.elements * out.dtype.bytes),
    )
