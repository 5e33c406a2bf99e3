"""Tuning: a model's kernels measured with other knobs on a board, the results kept as records."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from aot.errors import InputError
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.passes.pipeline import run_pipeline
from boards.board import Board
from codegen.model import CompileOptions
from codegen.stages import Lowered
from codegen.tuning_records import TuningRecord, read_records
from codegen.version import VERSION
from deploy.cache import cache_folder
from deploy.measure import Meter
from deploy.samples import random_samples
from deploy.tensors import graph_slots
from platforms.base import compiler_platform_of
from platforms.runners import EMULATORS
from platforms.runners.runner import ANYWHERE, Where, choose_runner
from platforms.toolchains import find_toolchain
from platforms.tuning.farm import FarmBench
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.record_file import RecordFile
from platforms.tuning.search import Limits, OnTrial, Progress, Setting, prior_points, resume, search
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Bench, MeasureChoices
from platforms.tuning.tuners.tuner import Tuner, default_tuner, make_tuner

_OBJECTS = "tuning-objects"
_TIMED = 5  # runs together, and repeats, where noise is in every measurement


@dataclass(frozen=True, slots=True)
class TuneChoices:
    """What the user may say about a search."""

    trials: int = 300
    tuner: str | None = None  # by name; None: the best that this machine can run
    tasks: str = ""  # "1,3-5"; "": all
    early_stop: int | None = None
    number: int | None = None  # None: as many as the board's counter needs
    repeat: int | None = None
    timeout_s: float = 10.0  # of one candidate
    prior: Path | None = None
    seed: int = 0
    toolchain: str | None = None
    runner: str | None = None
    where: Where = ANYWHERE  # which of several equal boards
    place: str = "auto"  # where candidates go: "ram", "image"
    farm: str | None = None  # the address of one; None: a board of this machine


@dataclass(frozen=True)
class Tuning:
    """A model's tasks on a board, with what is known of each."""

    board: Board
    setting: Setting
    searches: tuple[Progress, ...]

    @property
    def speedup(self) -> float:
        """Of the tuned kernels together, against their defaults."""
        return sum(p.default_in_model for p in self.searches) / sum(p.cost_in_model for p in self.searches)


def begin(
    path: Path, board: Board, options: CompileOptions, choices: TuneChoices, records: Sequence[TuningRecord]
) -> Tuning:
    """The tasks that were asked for, as far as the records have come."""
    graph = run_pipeline(load_model(path, options.rounding.value, options.given))
    tasks, lowered = tasks_of(graph, board.target, options)
    setting = _setting(board, choices)
    prior = read_records(choices.prior) if choices.prior is not None else ()
    searches = []
    for task in _chosen(tasks, choices.tasks):
        progress = Progress(task, _tuner(task, choices), _experiment(task, lowered, graph))
        resume(progress, records, setting)
        progress.tuner.warm_up(prior_points(prior, task))
        searches.append(progress)
    return Tuning(board, setting, tuple(searches))


def tune_model(
    path: Path,
    board: Board,
    options: CompileOptions,
    choices: TuneChoices,
    records: Path,
    on_begin: Callable[[Tuning], OnTrial],
) -> Tuning:
    """Searches until the trials are used up. Every trial is in the file when it is reported."""
    with ExitStack() as stack:
        file = RecordFile(records)
        stack.callback(file.close)
        tuning = begin(path, board, options, choices, file.records)
        on_trial = on_begin(tuning)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="solder-tune-")))
        bench = _bench(board, folder, choices)
        stack.callback(bench.close)
        limits = Limits(choices.trials, choices.early_stop)
        search(tuning.searches, bench, file, tuning.setting, limits, on_trial)
    return tuning


def _bench(board: Board, folder: Path, choices: TuneChoices) -> Bench:
    """Where starting firmware costs nothing, as in an emulator, an image is the quicker way."""
    if choices.farm is not None:
        return FarmBench(board, choices.farm, _measure(board, choices))
    starts_free = choose_runner(board, choices.runner) in EMULATORS
    in_image = choices.place == "image" or (choices.place == "auto" and starts_free)
    return (ImageBench if in_image else LoadedBench)(
        board,
        compiler_platform_of(board),
        folder,
        _measure(board, choices),
        choices.toolchain,
        choices.runner,
        cache_folder() / _OBJECTS,
        choices.where,
    )


def _measure(board: Board, choices: TuneChoices) -> MeasureChoices:
    """A count of instructions is the same every time, a time is not."""
    enough = 1 if board.counter.instruction_ns is not None else _TIMED
    return MeasureChoices(choices.number or enough, choices.repeat or enough, timeout_s=choices.timeout_s)


def _setting(board: Board, choices: TuneChoices) -> Setting:
    meter, together = Meter(board), _measure(board, choices).number

    def count(ticks: int) -> int:
        once = round(ticks / together)
        return meter.count(once) if meter.unit else once

    return Setting(
        core=board.target.core,
        compiler=str(find_toolchain(board.target, choices.toolchain)),
        board=board.name,
        unit=meter.unit or "ticks",
        tool=VERSION,
        count=count,
        now=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _experiment(task: Task, lowered: Lowered, graph: Graph) -> Callable[[], Experiment]:
    """Made when it is first needed, of inputs that are the same in every run."""

    @cache
    def make() -> Experiment:
        (sample,) = random_samples(graph_slots(graph, graph.inputs), 1).each
        return experiment_of(task, lowered, graph, dict(zip(graph.inputs, sample, strict=True)))

    return make


def _tuner(task: Task, choices: TuneChoices) -> Tuner:
    """Each task has chances of its own, the same in every run."""
    digest = hashlib.sha256(json.dumps([choices.seed, task.name]).encode()).digest()
    name = choices.tuner or default_tuner()
    return make_tuner(name, task.space, int.from_bytes(digest[:4], "little"))


def _chosen(tasks: Sequence[Task], wanted: str) -> tuple[Task, ...]:
    if not wanted:
        return tuple(tasks)
    return tuple(tasks[number - 1] for number in task_numbers(wanted, len(tasks)))


def task_numbers(text: str, most: int) -> list[int]:
    """1,3-5 as numbers from 1 to `most`, in order."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.strip().isdecimal() or not (last or first).strip().isdecimal():
            raise InputError(
                f'tasks "{text}" are no numbers such as 1,3-5', hint=f"there are tasks 1 to {most}"
            )
        if int(last or first) < int(first):
            raise InputError(f'tasks "{text}": {part} counts downwards', hint=f"write {last}-{first}")
        found.update(range(int(first), int(last or first) + 1))
    outside = sorted(n for n in found if not 1 <= n <= most)
    if outside:
        raise InputError(
            f"there is no task {outside[0]}", hint=f"there are tasks 1 to {most}; deploy tune --list"
        )
    return sorted(found)
