"""What running by rows saves and costs, model by model: arena, and instructions against whole tensors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aot.errors import DeployError
from aot.target import Optimize
from benchmarks.cases import RESULTS, SHARED
from boards.board import Board
from boards.load import load_board
from codegen.model import CompiledModel, CompileOptions
from deploy.compiling import compile_for
from deploy.device import LineChoices, open_device
from deploy.firmware import BuildChoices, build_source, model_source
from deploy.measure import Meter, run_series
from deploy.samples import random_samples
from deploy.tensors import remote_slots
from platforms.stack_depth import run_stack

BOARD = "mps2-an386"
MEMORY_RESULTS = RESULTS.with_name("memory.json")


@dataclass(frozen=True, slots=True)
class Goal:
    """One model, compiled for one goal."""

    arena_bytes: int
    beside_bytes: int  # of it beside the tensors themselves, at the layer that has most such
    run_stack_bytes: int | None
    instructions: int
    whole_arena_bytes: int  # the same kernels over whole tensors
    whole_instructions: int

    @property
    def more_instructions(self) -> float:
        """By rows, as a share of what whole tensors take."""
        return self.instructions / self.whole_instructions - 1


@dataclass(frozen=True, slots=True)
class MemoryResult:
    model: str
    bound_bytes: int  # no planner of whole tensors can need less
    ram: Goal
    speed: Goal


def shared_models() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (SHARED / "models").glob("*/model.tflite")))


def measure_memory(name: str) -> MemoryResult | None:
    """None for a model that cannot be compiled."""
    path, board = SHARED / "models" / name / "model.tflite", load_board(BOARD)
    try:
        bound = compile_for(path, board, CompileOptions()).model.plan.whole_tensor_bound_bytes
    except DeployError:
        return None
    return MemoryResult(
        name, bound, measure_goal(path, board, Optimize.RAM), measure_goal(path, board, Optimize.SPEED)
    )


def measure_goal(path: Path, board: Board, goal: Optimize) -> Goal:
    options = CompileOptions(optimize=goal)
    by_rows, instructions, stack_bytes = _run(path, board, options)
    whole, whole_instructions, _ = _run(path, board, replace(options, rows=False))
    return Goal(
        arena_bytes=by_rows.plan.arena_bytes,
        beside_bytes=beside_bytes(by_rows),
        run_stack_bytes=stack_bytes,
        instructions=instructions,
        whole_arena_bytes=whole.plan.arena_bytes,
        whole_instructions=whole_instructions,
    )


def _run(path: Path, board: Board, options: CompileOptions) -> tuple[CompiledModel, int, int | None]:
    model = compile_for(path, board, options).model
    ready = build_source(model_source(model), board, BuildChoices())
    stack = run_stack(ready.firmware, ready.model_name)
    with open_device(ready, LineChoices()) as device:
        samples = random_samples(remote_slots(device.model.inputs), 1)
        (ticks,) = run_series(device, samples, 1, lambda _: None).ticks
    return model, Meter(board).count(ticks), stack.bytes if stack else None


def beside_bytes(model: CompiledModel) -> int:
    """What copies, wide rows, margins, sums and scratch take beside the dense rows at the hungriest layer."""
    extra = {layer.output: _extra(model, number) for number, layer in enumerate(model.layers)}
    stages = model.request.stages
    return max(
        stage.scratch_bytes + stage.state_bytes + sum(extra.get(t, 0) for t in {*stage.reads, *stage.writes})
        for stage in stages
    )


def _extra(model: CompiledModel, number: int) -> int:
    layer = model.layers[number]
    buffer, fmt = model.plan.buffers[layer.output], layer.format
    if layer.op == "relayout":
        return buffer.bytes
    own_bytes = fmt.width * fmt.channels * (4 if fmt.dtype_bytes == 4 else 1)
    return max(buffer.bytes - min(buffer.rows_held, layer.rows) * own_bytes, 0)


def read_memory() -> tuple[MemoryResult, ...]:
    found = json.loads(MEMORY_RESULTS.read_text())
    return tuple(MemoryResult(**{**f, "ram": Goal(**f["ram"]), "speed": Goal(**f["speed"])}) for f in found)


def write_memory(results: Iterable[MemoryResult]) -> None:
    MEMORY_RESULTS.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
