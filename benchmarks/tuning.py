"""Measures the tuning: trials per second against one build and boot for each; the tuners among themselves."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.passes.pipeline import run_pipeline
from benchmarks.cases import SHARED
from boards.load import load_board
from codegen.kernels.knobs import Point
from codegen.lower import Lowered
from codegen.model import CompileOptions
from deploy.samples import random_samples
from deploy.tensors import graph_slots
from platforms.base import platform_of
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.loop_features import features
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Candidate, MeasureChoices, Outcome
from platforms.tuning.tuners.tuner import Key, key_of, make_tuner

_BOARD = "mps2-an386"
_RATE_TRIALS = 96
_SINGLE_TRIALS = 4  # built and booted one by one, the whole firmware each time
_TUNERS = ("random", "anneal", "ga", "model")
_SEEDS = 20  # fewer leave too much to chance
_TRIALS = 48  # of each search
_TASKS = (
    ("tiny_kws_dscnn_int8", 0),
    ("tiny_kws_dscnn_int8", 2),
    ("tiny_ad_fc_int8", 0),
    ("tiny_vww_mbv1_int8", 1),
    ("tiny_vww_mbv1_int8", 4),
    ("tiny_vww_mbv1_int8", 2),
)


@dataclass(frozen=True)
class _Case:
    task: Task
    experiment: Experiment


def report() -> str:
    return f"{_rates(_case(*_TASKS[0]))}\n\n{_tuners()}"


def _case(model: str, number: int) -> _Case:
    graph = run_pipeline(load_model(SHARED / "models" / model / "model.tflite", "tflm"))
    tasks, lowered = tasks_of(graph, load_board(_BOARD).target, CompileOptions())
    return _Case(tasks[number], _experiment(tasks[number], lowered, graph))


def _experiment(task: Task, lowered: Lowered, graph: Graph) -> Experiment:
    (sample,) = random_samples(graph_slots(graph, graph.inputs), 1).each
    return experiment_of(task, lowered, graph, dict(zip(graph.inputs, sample, strict=True)))


def _rates(case: _Case) -> str:
    """All without a cache of objects."""
    points = case.task.space.points[:_RATE_TRIALS]
    image = _rate(ImageBench, case, [points])
    loaded = _rate(LoadedBench, case, [points])
    single = _single_rate(case, points[:_SINGLE_TRIALS])
    return "\n".join(
        [
            f"{case.task.name} on {_BOARD}, trials per second:",
            f"  many in one image            {image:6.2f}   {image / single:5.1f} x",
            f"  loaded into the firmware     {loaded:6.2f}   {loaded / single:5.1f} x",
            f"  a build and a boot for each  {single:6.2f}",
        ]
    )


def _rate(
    bench: type[ImageBench] | type[LoadedBench], case: _Case, batches: Sequence[Sequence[Point]]
) -> float:
    board = load_board(_BOARD)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with closing(bench(board, platform_of(board), Path(folder), MeasureChoices())) as made:
            for points in batches:
                _measure(made, case, points)
        return sum(map(len, batches)) / (time.perf_counter() - begun)


def _single_rate(case: _Case, points: Sequence[Point]) -> float:
    """As if nothing of the firmware were kept from trial to trial."""
    return statistics.fmean(_rate(ImageBench, case, [[point]]) for point in points)


def _measure(bench: ImageBench | LoadedBench, case: _Case, points: Sequence[Point]) -> list[Outcome]:
    candidates = [Candidate(point, case.task.kernel(point)) for point in points]
    outcomes = bench.measure(case.task, case.experiment, candidates)
    failed = [outcome.error for outcome in outcomes if outcome.error]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(points)} trials failed: {failed[0]}")
    return outcomes


def _tuners() -> str:
    """Each task is measured once at every point; the searches then run on what was found."""
    lines = [f"best cost after {_TRIALS} trials over the best of all, mean of {_SEEDS} seeds:"]
    lines.append(f"  {'task':<42}{'points':>7}" + "".join(f"{name:>9}" for name in _TUNERS))
    for model, number in _TASKS:
        case = _case(model, number)
        costs = _exhaustive(case)
        best = min(costs.values())
        means = [
            statistics.fmean(_searched(name, case, costs, seed) for seed in range(_SEEDS)) / best
            for name in _TUNERS
        ]
        lines.append(f"  {case.task.name:<42}{len(costs):>7}" + "".join(f"{mean:>9.4f}" for mean in means))
    return "\n".join(lines)


def _exhaustive(case: _Case) -> dict[Key, int]:
    board = load_board(_BOARD)
    points = case.task.space.points
    with tempfile.TemporaryDirectory() as folder:
        bench = ImageBench(board, platform_of(board), Path(folder), MeasureChoices())
        outcomes = _measure(bench, case, points)
    return {key_of(p): board.counter.instructions(o.ticks[0]) for p, o in zip(points, outcomes, strict=True)}


def _searched(name: str, case: _Case, costs: dict[Key, int], seed: int) -> float:
    known = (
        {key: features(dict(key), case.task.kernel(dict(key))) for key in costs} if name == "model" else {}
    )
    tuner = make_tuner(name, case.task.space, seed, lambda point: known[key_of(point)])
    for _ in range(0, _TRIALS, 8):
        tuner.learn([(point, float(costs[key_of(point)])) for point in tuner.propose(8)])
    assert tuner.best is not None
    return tuner.best[1]
