"""Tunes a model: measures its kernels with other knobs on a board, and records the results."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from aot.errors import InputError
from aot.ir.tensor_spec import graph_specs
from boards.board import Board
from codegen.compile import compile_job
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import Job
from codegen.kernels.tuning_records import TuningRecord, read_records
from codegen.version import VERSION
from deploy.cli.console import progress
from deploy.compiler.accelerator_tasks import DeviceTask, chosen_devices, device_tasks
from deploy.compiler.jobs import job_for
from deploy.compiler.measured_choice import Trials, choose_devices
from deploy.devices.attached import require_own_firmware
from deploy.devices.build_cache import cache_folder
from deploy.devices.connection_options import LineOptions
from deploy.inputs.samples import random_samples
from deploy.tuner.objectives import cost_unit_for
from platforms.base import BuildChoices, compiler_platform_of
from platforms.runners import EMULATORS
from platforms.runners.runner import ANY_BOARD, ATTACH, BoardSelector, choose_runner
from platforms.toolchains import find_toolchain
from platforms.tuning.auto import AutoTask
from platforms.tuning.farm import FarmBench
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.record_file import RecordFile
from platforms.tuning.search import Limits, OnTrial, Setting, TaskProgress, prior_points, resume, search
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Bench, MeasureChoices
from platforms.tuning.tuners.tuner import Tuner, default_tuner, make_tuner

_OBJECTS = "tuning-objects"
_TIMED = 5  # runs per measurement, and repeats, if measurements are noisy


@dataclass(frozen=True, slots=True)
class TuneChoices:
    """The user's options for a search."""

    trials: int = 300
    tuner: str | None = None  # by name; None: the best one available
    tasks: str = ""  # for example "1,3-5,7-"; "": all
    early_stop: int | None = None
    number: int | None = None  # None: as many as the board's counter needs
    repeat: int | None = None
    timeout_s: float = 10.0  # per candidate
    prior: Path | None = None
    seed: int = 0
    toolchain: str | None = None
    platform: str | None = None  # None: the board's first one that compiles file by file
    runner: str | None = None
    where: BoardSelector = ANY_BOARD  # selects one of several equal boards
    candidates_in: str = "auto"  # "auto", "ram" or "image"
    farm: str | None = None  # address of a farm; None: use a local board
    objective: str | None = None  # one of OBJECTIVES; None: what the board's counter measures
    keep_constants: bool = False  # skip candidates that need more flash for constants than the default


@dataclass(frozen=True)
class Tuning:
    """The tasks of a model on a board, and their progress."""

    board: Board
    setting: Setting
    searches: tuple[TaskProgress, ...]
    devices: tuple[DeviceTask, ...] = ()  # layers that accelerators compute or could compute

    @property
    def speedup(self) -> float:
        """The speedup of all tuned kernels together relative to their defaults."""
        if not self.searches:
            return 1.0
        return sum(p.default_in_model for p in self.searches) / sum(p.cost_in_model for p in self.searches)


def begin(job: Job, board: Board, choices: TuneChoices, records: Sequence[TuningRecord]) -> Tuning:
    """Creates the requested tasks, with the trials already recorded."""
    setting = _setting(board, choices)
    planned = plan_job(replace(job, tuned=chosen_devices(records, setting)))
    prior = read_records(choices.prior) if choices.prior is not None else ()
    searches = []
    for task in _chosen(tasks_of(planned), choices.tasks):
        if choices.keep_constants:
            task = replace(task, space=task.space.without_wider_constants())
        once = cost_unit_for(board, choices.objective).counts_once
        progress = TaskProgress(task, _tuner(task, choices), _experiment(task, planned), counts_once=once)
        resume(progress, records, setting)
        progress.tuner.warm_up(prior_points(prior, task))
        searches.append(progress)
    return Tuning(board, setting, tuple(searches), device_tasks(job, records, setting))


def tune_model(
    job: Job,
    board: Board,
    choices: TuneChoices,
    records: Path,
    on_begin: Callable[[Tuning], OnTrial],
) -> Tuning:
    """Searches until the trials are used up. Each trial is saved before it is reported."""
    if cost_unit_for(board, choices.objective).bench is not None:
        _require_built_here(choices)
    if choices.runner == ATTACH:
        require_own_firmware(job, board, LineOptions(choices.runner, *astuple(choices.where)))
    used = _choose_devices(job, board, choices, records)
    left = replace(choices, trials=max(choices.trials - used, 0))
    return search_from(lambda known: begin(job, board, left, known), board, left, records, on_begin)


def _choose_devices(job: Job, board: Board, choices: TuneChoices, records: Path) -> int:
    """Measures which layers accelerators should compute; returns the number of trials used."""
    if not job.options.accelerators or choices.farm is not None or choices.tasks:
        return 0
    if cost_unit_for(board, choices.objective).bench is not None:
        return 0  # whole runs are measured with the board's counter
    setting, line = _setting(board, choices), LineOptions(choices.runner, *astuple(choices.where))
    how = BuildChoices(choices.toolchain, platform=choices.platform)
    trials = Trials(job, board, line, how, _measure(board, choices).repeat)
    with ExitStack() as stack:
        file = RecordFile(records)
        stack.callback(file.close)
        return choose_devices(
            device_tasks(job, file.records, setting), trials.cost, file, setting, choices.trials
        )


def begin_nest(auto: AutoTask, board: Board, choices: TuneChoices, records: Sequence[TuningRecord]) -> Tuning:
    """Creates the task for a single loop nest whose schedule is searched."""
    setting = _setting(board, choices)
    progress = TaskProgress(auto.task, _tuner(auto.task, choices), lambda: auto.experiment)
    resume(progress, records, setting)
    return Tuning(board, setting, (progress,))


def search_from(
    begin: Callable[[Sequence[TuningRecord]], Tuning],
    board: Board,
    choices: TuneChoices,
    records: Path,
    on_begin: Callable[[Tuning], OnTrial],
) -> Tuning:
    """Runs the search that `begin` creates from existing records."""
    with ExitStack() as stack:
        file = RecordFile(records)
        stack.callback(file.close)
        tuning = begin(file.records)
        on_trial = on_begin(tuning)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="solder-tune-")))
        bench = _bench(board, folder, choices)
        stack.callback(bench.close)
        limits = Limits(choices.trials, choices.early_stop)
        bar = stack.enter_context(progress("tuning", choices.trials, has_bar=False))  # a table shows more

        def count(turn: TaskProgress, record: TuningRecord) -> None:
            on_trial(turn, record)
            bar.ended(turn.task.name)

        search(tuning.searches, bench, file.add, tuning.setting, limits, count)
    return tuning


def constants_before_and_after(job: Job, records: Path) -> tuple[int, int]:
    """Returns the bytes of constants by default and with the records, because wider weights are faster."""
    options = replace(job.options, tuning_records=records)
    tuned, _ = job_for(job.model, job.target, options, job.board, job.firmware)
    by_default, with_records = (compile_job(each).constants.bytes for each in (job, tuned))
    return by_default, with_records


def _bench(board: Board, folder: Path, choices: TuneChoices) -> Bench:
    """Returns the bench: whole images if starting firmware is cheap, as in an emulator, else loaded code."""
    own = cost_unit_for(board, choices.objective).bench
    if choices.farm is not None:
        return FarmBench(board, choices.farm, _measure(board, choices))
    runs_already = choices.runner == ATTACH
    if runs_already and choices.candidates_in == "image":
        raise InputError(
            "running firmware cannot be rebuilt: candidates must go into its RAM",
            hint="use --candidates-in ram",
        )
    starts_free = not runs_already and choose_runner(board, choices.runner) in EMULATORS
    in_image = choices.candidates_in == "image" or (choices.candidates_in == "auto" and starts_free)
    return (own or (ImageBench if in_image else LoadedBench))(
        board,
        compiler_platform_of(board, choices.platform),
        folder,
        _measure(board, choices),
        choices.toolchain,
        choices.runner,
        cache_folder() / _OBJECTS,
        choices.where,
    )


def _require_built_here(choices: TuneChoices) -> None:
    """Rejects options for measuring on a running board if the objective is computed from whole images."""
    told = {
        "--farm": choices.farm is not None,
        "--candidates-in ram": choices.candidates_in == "ram",
        f"--runner {ATTACH}": choices.runner == ATTACH,
    }
    for words in (words for words, is_told in told.items() if is_told):
        raise InputError(
            f"{words} times candidates on a board, but this objective is computed on this computer",
            hint=f"leave out {words}, or --objective {choices.objective}",
        )


def _measure(board: Board, choices: TuneChoices) -> MeasureChoices:
    """Chooses the number of repeats: instruction counts are exact, times are not."""
    if cost_unit_for(board, choices.objective).bench is not None:
        return MeasureChoices(timeout_s=choices.timeout_s)  # computed costs are exact
    enough = 1 if board.counter.instruction_ns is not None else _TIMED
    return MeasureChoices(choices.number or enough, choices.repeat or enough, timeout_s=choices.timeout_s)


def _setting(board: Board, choices: TuneChoices) -> Setting:
    cost_unit, together = cost_unit_for(board, choices.objective), _measure(board, choices).number
    return Setting(
        core=board.target.core,
        compiler=str(find_toolchain(board.target, choices.toolchain)),
        board=board.name,
        unit=cost_unit.name,
        tool=VERSION,
        count=lambda ticks: cost_unit.count(round(ticks / together)),
        now=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _experiment(task: Task, planned: CompiledPlan) -> Callable[[], Experiment]:
    """Returns a function that creates the experiment on first use, from reproducible inputs."""

    @cache
    def make() -> Experiment:
        graph = planned.graph
        (sample,) = random_samples(graph_specs(graph, graph.inputs), 1).each
        return experiment_of(task, planned, dict(zip(graph.inputs, sample, strict=True)))

    return make


def _tuner(task: Task, choices: TuneChoices) -> Tuner:
    """Creates a task's tuner, with reproducible random choices independent of other tasks."""
    digest = hashlib.sha256(json.dumps([choices.seed, task.name]).encode()).digest()
    name = choices.tuner or default_tuner()
    return make_tuner(name, task.space, int.from_bytes(digest[:4], "little"))


def _chosen(tasks: Sequence[Task], wanted: str) -> tuple[Task, ...]:
    if not wanted:
        return tuple(tasks)
    return tuple(tasks[number - 1] for number in task_numbers(wanted, len(tasks)))


def task_numbers(text: str, most: int) -> list[int]:
    """Parses 1,3-5,7- to sorted numbers from 1 to `most`; 7- means 7 and above. Raises InputError."""
    found = {number for part in text.split(",") for number in _range(part.strip(), text, most)}
    outside = sorted(n for n in found if not 1 <= n <= most)
    if outside:
        raise InputError(f"there is no task {outside[0]}", hint=f"tasks: 1 to {most}; deploy tune --list")
    return sorted(found)


def _range(part: str, text: str, most: int) -> range:
    """Parses a number or a range; a range without end extends to the last task."""
    first, dash, last = (piece.strip() for piece in part.partition("-"))
    if not first.isdecimal() or not (last.isdecimal() or not last):
        raise InputError(f'tasks "{text}" is not a list like 1,3-5 or 2-', hint=f"tasks: 1 to {most}")
    begin = int(first)
    if not last:
        return range(begin, max(begin, most if dash else begin) + 1)
    if int(last) < begin:
        raise InputError(f'tasks "{text}": {part} counts down', hint=f"write {last}-{first}")
    return range(begin, int(last) + 1)
