"""Tasks that the tuning is measured with, and how a bench measures points of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aot.frontend.load import load_model
from aot.passes.pipeline import run_pipeline
from benchmarks.cases import SHARED
from boards.load import load_board
from codegen.kernels.knobs import Point
from codegen.model import CompileOptions
from deploy.samples import random_samples
from deploy.tensors import graph_slots
from platforms.tuning.board_bench import BoardBench
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Candidate, Outcome

BOARD = "mps2-an386"
TASKS = (  # model and the task's number in it, from 0
    ("tiny_kws_dscnn_int8", 0),
    ("tiny_vww_mbv1_int8", 0),
    ("tiny_vww_mbv1_int8", 3),
    ("tiny_ic_resnet8_int8", 0),
    ("tiny_ic_resnet8_int8", 1),
    ("tiny_kws_dscnn_int8", 2),
)


@dataclass(frozen=True)
class TuningCase:
    task: Task
    experiment: Experiment


def tuning_case(model: str, number: int) -> TuningCase:
    graph = run_pipeline(load_model(SHARED / "models" / model / "model.tflite", "tflm"))
    tasks, lowered = tasks_of(graph, load_board(BOARD).target, CompileOptions())
    (sample,) = random_samples(graph_slots(graph, graph.inputs), 1).each
    inputs = dict(zip(graph.inputs, sample, strict=True))
    return TuningCase(tasks[number], experiment_of(tasks[number], lowered, graph, inputs))


def measured(bench: BoardBench, case: TuningCase, points: Sequence[Point]) -> list[Outcome]:
    """Raises SystemExit where a trial failed."""
    candidates = [Candidate(point, case.task.kernel(point)) for point in points]
    outcomes = bench.measure(case.task, case.experiment, candidates)
    failed = [outcome.error for outcome in outcomes if outcome.error]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(points)} trials failed: {failed[0]}")
    return outcomes
