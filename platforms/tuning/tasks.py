"""Tuning tasks: a model's distinct kernels with knobs, their input rows, and the expected results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aot.interpret import run_all
from aot.ir.graph import Graph
from aot.ir.types import Array
from artifact.row_packing import pack_rows
from codegen.fit.variant import CompiledPlan
from codegen.formats import RowFormat, storage_dtype
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point, Space
from codegen.lower.stages import Lowered, LoweredStage, Reading

_ROWS = 2  # result rows per trial, if rows are computed one by one
_INSTRUCTIONS_PER_ELEMENT = 12  # for requantization, store and loops, besides products; used for estimates


@dataclass(frozen=True)
class Operand:
    """An input of a trial: some rows of a tensor in their memory layout."""

    data: bytes
    c_type: str
    row_elements: int


@dataclass(frozen=True)
class Experiment:
    """The work of a trial: `steps` calls of the kernel on rows of a model run, and the expected result."""

    operands: tuple[Operand, ...]  # one per activation, in the kernel's order
    expected: bytes
    steps: int
    first_step: int  # row of the image, for tables that differ by row
    c_type: str
    row_elements: int  # of the result
    fill: bytes  # initial contents of one result row


@dataclass(frozen=True)
class Task:
    """A kernel with knobs, and its share of the model."""

    name: str
    op: str
    space: Space
    stage: LoweredStage  # the first one with this kernel
    layers: int
    steps: int  # per model run, over all its layers
    work: float  # estimated instructions per model run

    def kernel(self, point: Point) -> Kernel:
        assert self.stage.relower is not None
        return self.stage.relower({self.name: point})


def tasks_of(planned: CompiledPlan) -> tuple[Task, ...]:
    """Returns the kernels of a compiled model that have knobs, the one with the most work first."""
    by_name: dict[str, list[LoweredStage]] = {}
    for stage in planned.lowered.stages:
        space = stage.kernel.space
        goes_by_rows = not stage.kernel.whole and stage.kernel.spread is None
        if space is not None and goes_by_rows and space.has_choice:
            by_name.setdefault(space.task, []).append(stage)
    tasks = [_task(stages, planned.graph) for stages in by_name.values()]
    return tuple(sorted(tasks, key=lambda task: -task.work))


def _task(stages: Sequence[LoweredStage], graph: Graph) -> Task:
    first = stages[0]
    assert first.kernel.space is not None
    return Task(
        name=first.kernel.space.task,
        op=first.op,
        space=first.kernel.space,
        stage=first,
        layers=len(stages),
        steps=sum(steps_of(stage) for stage in stages),
        work=sum(_work(stage, graph) for stage in stages),
    )


def steps_of(stage: LoweredStage) -> int:
    accumulation = stage.kernel.accumulation
    return accumulation.rows if accumulation is not None else stage.steps


def _work(stage: LoweredStage, graph: Graph) -> float:
    assert stage.node is not None
    outputs = graph.output_types(stage.node)
    macs = stage.node.op.cost(graph.input_types(stage.node), outputs).macs
    return macs + _INSTRUCTIONS_PER_ELEMENT * outputs[0].elements


def experiment_of(task: Task, planned: CompiledPlan, inputs: Mapping[str, Array]) -> Experiment:
    """Cuts rows from the middle of a model run on these inputs, computed by the reference."""
    graph, lowered = planned.graph, planned.lowered
    values = {**run_all(graph, inputs), **graph.constants}
    stage, out = task.stage, task.stage.result
    whole = pack_rows(values[out.value], out.format, out.image_rows)
    all_rows = stage.kernel.accumulation is not None
    steps = steps_of(stage) if all_rows else min(_ROWS, out.image_rows)
    first = 0 if all_rows else (out.image_rows - steps) // 2
    row = out.format.row_bytes
    made = whole if all_rows else whole[first * row : (first + steps) * row]
    return Experiment(
        operands=tuple(
            _operand(reading, values[value], lowered, first, steps)
            for reading, value in zip(stage.reads, stage.values, strict=True)
        ),
        expected=made,
        steps=steps,
        first_step=first,
        c_type=storage_dtype(out.type, out.format).c_name,
        row_elements=out.format.row_elements,
        fill=_fill(out.format),
    )


def _operand(reading: Reading, value: Array, lowered: Lowered, first: int, steps: int) -> Operand:
    """Packs the rows between the first step's first and the last step's last row."""
    tensor, access = lowered.tensors[reading.tensor], reading.access
    fmt = reading.view or tensor.format
    rows = value.size // (fmt.width * fmt.channels)
    above = max(fmt.top, -access.first)
    below = max(fmt.bottom, access.first + access.count * access.step)
    fill = _fill(replace(fmt, fill=reading.fill))
    packed = fill * above + pack_rows(value, fmt, rows) + fill * below
    begin = first * access.stride + access.first + above
    end = begin + (steps - 1) * access.stride + (access.count - 1) * access.step + 1
    data = packed[begin * fmt.row_bytes : end * fmt.row_bytes]
    return Operand(data, storage_dtype(tensor.type, fmt).c_name, fmt.row_elements)


def _fill(fmt: RowFormat) -> bytes:
    """Returns the bytes of a padding row."""
    return fmt.fill.to_bytes(fmt.dtype_bytes, "little", signed=True) * fmt.row_elements
