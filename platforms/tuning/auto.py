"""Creates a tuning task for an unscheduled loop nest: space from sketches, results from the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, TensorType
from codegen.formats import dense_format
from codegen.kernels.kernel import Kernel, RowAccess
from codegen.kernels.knobs import NOT_TUNED, Point, Space, point_text
from codegen.kernels.nests import with_sketches
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Buffer, Proc, Role
from codegen.loops.sketches import as_python, nest_of
from codegen.loops.tensorize import Lanes
from codegen.lower.stages import LoweredStage, Result
from platforms.tuning.tasks import Experiment, Operand, Task


@dataclass(frozen=True)
class AutoTask:
    """A loop nest to be scheduled."""

    task: Task
    experiment: Experiment


def auto_task(proc: Proc, seed: int = 0, lanes: Lanes | None = None) -> AutoTask:
    """Creates a task for a nest with ROWS, constants and one output. Its inputs are random."""
    memory = _memory(proc, seed)
    return _task_of(proc, memory, lambda tuned: with_sketches(_naive(proc, memory), tuned, lanes))


def template_task(
    proc: Proc, space: Space, scheduled: Callable[[Point, Mapping[str, Array]], Kernel], seed: int = 0
) -> AutoTask:
    """Creates a task for a template: `scheduled` returns the kernel at a point with these constants."""
    memory = _memory(proc, seed)
    naive = _naive(proc, memory)

    def made(tuned: Mapping[str, Point]) -> Kernel:
        point = space.chosen(tuned)
        return replace(scheduled(point, naive.constants), access=naive.access, space=space, point=point)

    return _task_of(proc, memory, made)


def _naive(proc: Proc, memory: Mapping[str, Sequence[Array]]) -> Kernel:
    rows = tuple(RowAccess(0, 0, p.rows) for p in proc.params if p.role is Role.ROWS)
    constants = {p.name: memory[p.name][0] for p in proc.params if p.role is Role.CONSTANT}
    return Kernel(proc, "", "auto", "searched", rows, constants)


def _task_of(
    proc: Proc, memory: dict[str, list[Array]], scheduled: Callable[[Mapping[str, Point]], Kernel]
) -> AutoTask:
    kernel = scheduled(NOT_TUNED)
    assert kernel.space is not None, f"{proc.name} is not a plain nest"
    stage = LoweredStage(proc.name, None, proc.name, kernel, (), _result(proc), scheduled)
    task = Task(kernel.space.task, proc.name, kernel.space, stage, layers=1, steps=1, work=0.0)
    return AutoTask(task, _experiment(proc, memory))


def _result(proc: Proc) -> Result:
    (out,) = (p for p in proc.params if p.role is Role.OUTPUT)
    kind = TensorType(out.dtype, (1, out.elements))
    return Result(out.name, out.name, kind, dense_format(kind))


def schedule_text(task: Task, point: Point) -> str:
    """Returns the schedule of a point as Python source, or "" for kernels scheduled by hand."""
    naive = task.kernel({knob.name: 1 for knob in task.space.knobs}).proc
    nest = nest_of(naive)
    if nest is None or nest.open_numbers.keys() != point.keys():
        return ""
    return f"# {task.name}: {point_text(point)}\n{as_python(nest.steps(point))}"


def _memory(proc: Proc, seed: int) -> dict[str, list[Array]]:
    rng = np.random.default_rng(seed)
    return {p.name: [_random(p, rng) for _ in range(p.rows)] for p in proc.params}


def _random(buffer: Buffer, rng: np.random.Generator) -> Array:
    """Returns random values for a buffer, and zeros for the output."""
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
        steps=1,
        first_step=0,
        c_type=out.dtype.c_name,
        row_elements=out.elements,
        fill=bytes(out.elements * out.dtype.bytes),
    )
