"""What running by rows saves and costs, model by model: arena, and instructions against whole tensors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aot.errors import DeployError, FitError
from aot.ir.graph import Graph
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.target import Optimize, Target
from artifact.artifact import artifact_of
from artifact.facts import facts_of
from artifact.report import make_report
from benchmarks.cases import RESULTS
from benchmarks.shared import model_file, shapes_for
from boards.board import Board
from codegen.compile import CompiledModel, compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from deploy.benchmark.meter import Meter
from deploy.benchmark.run_series import run_series
from deploy.compiler.fit import require_fit
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_source
from deploy.devices.session import open_device
from deploy.inputs.samples import random_samples
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.project import project_source
from platforms.stack_depth import run_stack

BOARD = "mps2-an386"
MEMORY_RESULTS = RESULTS.with_name("memory.json")


@dataclass(frozen=True, slots=True)
class Goal:
    """One model, compiled for one goal."""

    arena_bytes: int
    floor_bytes: int  # no placement of these rings in this order is smaller
    is_least: bool  # no placement is smaller: it is at the floor, or the solver has proven it
    beside_bytes: int  # of it beside the tensors themselves, at the layer that has most such
    run_stack_bytes: int | None
    instructions: int | None  # None: it does not fit the board
    whole_arena_bytes: int  # the same kernels over whole tensors
    whole_instructions: int | None

    @property
    def more_instructions(self) -> float | None:
        """By rows, as a share of what whole tensors take."""
        if self.instructions is None or self.whole_instructions is None:
            return None
        return self.instructions / self.whole_instructions - 1


@dataclass(frozen=True, slots=True)
class MemoryResult:
    model: str
    bound_bytes: int  # no planner of whole tensors can need less
    ram: Goal
    speed: Goal
    scores_bytes: int = 0  # of the largest scores of attention, one for each pair of vectors; 0 without
    largest_bytes: int = 0  # of the largest tensor of a model with attention


def measure_memory(name: str) -> MemoryResult | None:
    """None for a model that cannot be compiled."""
    path, board, options = model_file(name), load_board(BOARD), CompileOptions(shapes=shapes_for(name))
    try:
        compiled = compile_job(read_job(path, _without_limit(board), options))
    except DeployError:
        return None
    ram, speed = (
        measure_goal(path, board, replace(options, optimize=goal)) for goal in (Optimize.RAM, Optimize.SPEED)
    )
    graph = compiled.planned.job.model.graph
    scores = max((graph.types[value].bytes for value in scores_of(graph)), default=0)
    largest = max(graph.types[value].bytes for value in graph.producers) if scores else 0
    return MemoryResult(name, compiled.whole_tensor_bound_bytes, ram, speed, scores, largest)


def scores_of(graph: Graph) -> Iterator[str]:
    """Yields the products of matrices that become weights of attention: a softmax follows."""
    for node in graph.nodes:
        if not isinstance(node.op, Softmax):
            continue
        maker = graph.producers.get(node.reads[0])
        while maker is not None and (isinstance(maker.op, Reshape | Rearrange) or maker.op.elementwise):
            maker = next((graph.producers[value] for value in maker.reads if value in graph.producers), None)
        if maker is not None and isinstance(maker.op, BatchMatmul):
            yield maker.outputs[0]


def _without_limit(board: Board) -> Target:
    """The board's core: what a model takes is measured also where the board has less."""
    return replace(board.target, regions=())


def measure_goal(path: Path, board: Board, options: CompileOptions) -> Goal:
    by_rows = compile_job(read_job(path, _without_limit(board), options))
    whole = compile_job(read_job(path, _without_limit(board), replace(options, rows=False)))
    instructions, stack_bytes = run_on(by_rows, board)
    return Goal(
        arena_bytes=by_rows.plan.arena_bytes,
        floor_bytes=by_rows.plan.bound_bytes,
        is_least=by_rows.plan.is_least or _is_proven_least(path, board, options, by_rows),
        beside_bytes=beside_bytes(by_rows),
        run_stack_bytes=stack_bytes,
        instructions=instructions,
        whole_arena_bytes=whole.plan.arena_bytes,
        whole_instructions=run_on(whole, board)[0],
    )


def _is_proven_least(path: Path, board: Board, options: CompileOptions, found: CompiledModel) -> bool:
    solved = compile_job(read_job(path, _without_limit(board), replace(options, exact=True))).plan
    return solved.is_least and solved.arena_bytes == found.plan.arena_bytes


def run_on(model: CompiledModel, board: Board) -> tuple[int | None, int | None]:
    """Instructions and stack, where the board has room."""
    try:
        require_fit(make_report(facts_of(model), board.target, board.base_firmware), board)
        ready = build_source(project_source(artifact_of(model)), board, BuildChoices())
    except FitError:
        return None, None
    stack = run_stack(ready.built, ready.model_name)
    with open_device(ready, LineOptions()) as device:
        samples = random_samples(device.model.inputs, 1)
        (ticks,) = run_series(device, samples).ticks
    return Meter(board).count(ticks), stack.bytes if stack else None


def beside_bytes(model: CompiledModel) -> int:
    """What copies, wide rows, padding and sums take beside the dense rows at the hungriest layer."""
    extra = {layer.output: _extra(model, number) for number, layer in enumerate(model.layers)}
    stages = model.planned.request.stages
    return max(
        stage.state_bytes + sum(extra.get(t, 0) for t in {*stage.reads, *stage.writes}) for stage in stages
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
