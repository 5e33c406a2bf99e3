"""Tasks that the tuning is measured with, and how a bench measures points of them.

They are convolutions of 16-bit rows, whose knobs are many. Where memory is the goal, Cortex-M4 takes such
rows in layers that have room for them. Here all layers have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.ir.tensor_spec import graph_specs
from aot.passes.pipeline import run_meaning
from aot.target import Optimize
from benchmarks.cases import SHARED
from codegen.c.arenas import ANY_REGION
from codegen.fit.variant import CompiledPlan, Variant
from codegen.job import read_job
from codegen.kernels.knobs import Point
from codegen.lower.decisions import decisions_for, work_of
from codegen.options import CompileOptions
from deploy.inputs.samples import random_samples
from platforms.board_files import load_board
from platforms.tuning.board_bench import BoardBench
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Candidate, Outcome

BOARD = "mps2-an386"
TASKS = (  # model and task
    ("tiny_kws_dscnn_int8", "conv2d_1x1_64_to_64_by_5 step 64 i16"),
    ("tiny_vww_mbv1_int8", "conv2d_1x1_32_to_32_by_24 step 32 i16"),
    ("tiny_vww_mbv1_int8", "conv2d_1x1_64_to_60_by_12 step 64 i16"),
    ("tiny_ic_resnet8_int8", "conv2d_3x3_16_to_32_by_16 step 32 i16"),
    ("tiny_ic_resnet8_int8", "conv2d_3x3_32_to_64_by_8 step 64 i16"),
    ("tiny_kws_dscnn_int8", "conv2d_10x4_1_to_64_by_5 step 2 i16"),
)


@dataclass(frozen=True)
class TuningCase:
    task: Task
    experiment: Experiment


def tuning_case(model: str, name: str) -> TuningCase:
    planned = _with_wide_rows(SHARED / "models" / model / "model.tflite")
    graph = planned.graph
    (sample,) = random_samples(graph_specs(graph, graph.inputs), 1).each
    inputs = dict(zip(graph.inputs, sample, strict=True))
    (task,) = [task for task in tasks_of(planned) if task.name == name]
    return TuningCase(task, experiment_of(task, planned, inputs))


def _with_wide_rows(path: Path) -> CompiledPlan:
    job = read_job(path, load_board(BOARD).target, CompileOptions(optimize=Optimize.RAM))
    meaning = run_meaning(job.model.graph, job.options.left_out_passes)
    every = frozenset(work_of(meaning.graph))
    decided = replace(decisions_for(meaning.graph, Optimize.RAM, job.tuned), widened=every)
    variant = Variant(meaning.graph, job.target, job.options, (ANY_REGION,), decided)
    return variant.least().checked(job, meaning.steps)


def measured(bench: BoardBench, case: TuningCase, points: Sequence[Point]) -> list[Outcome]:
    """Raises SystemExit where a trial failed."""
    candidates = [Candidate(point, case.task.kernel(point)) for point in points]
    outcomes = bench.measure(case.task, case.experiment, candidates)
    failed = [outcome.error for outcome in outcomes if outcome.error]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(points)} trials failed: {failed[0]}")
    return outcomes
