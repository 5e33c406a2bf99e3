"""The search loop: selects the most promising task, measures points its tuner proposes, records them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import TuningRecord
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Bench, Candidate, Failure, Outcome
from platforms.tuning.tuners.tuner import Tuner, key_of

_BATCH = 32  # consecutive trials of a task; they fit one image
_LEAST = 8


@dataclass(frozen=True)
class Setting:
    """Facts shared by all records of a run, and the conversion of ticks to costs."""

    core: str
    compiler: str
    board: str
    unit: str
    tool: str
    count: Callable[[int], int]  # ticks -> instructions or cycles
    now: Callable[[], str]


@dataclass
class TaskProgress:
    """The progress of one task's search."""

    task: Task
    tuner: Tuner
    experiment: Callable[[], Experiment]
    counts_once: bool = False  # its cost does not grow with the number of runs
    tried: int = 0
    failed: int = 0
    default_cost: int | None = None
    best_cost: int | None = None
    best: Point | None = None
    since_gain: int = 0
    curve: list[int] = field(default_factory=list)  # best cost after each trial

    @property
    def gain(self) -> float:
        """Returns the fraction of the default's cost that the best point saves."""
        if self.default_cost is None or self.best_cost is None:
            return 0.0
        return 1 - self.best_cost / self.default_cost

    @property
    def cost_in_model(self) -> float:
        """Returns the cost of the best point over one model run; an estimate until measured."""
        return self.task.work if self.best_cost is None else self._of_all_steps(self.best_cost)

    @property
    def default_in_model(self) -> float:
        return self.task.work if self.default_cost is None else self._of_all_steps(self.default_cost)

    def _of_all_steps(self, cost: int) -> float:
        return cost if self.counts_once else cost * self.task.steps / self.experiment().steps

    def take(self, record: TuningRecord) -> None:
        """Counts one more trial, of this run or an earlier one."""
        self.tried += 1
        self.since_gain += 1
        self.failed += record.cost is None
        if record.cost is not None and (self.best_cost is None or record.cost < self.best_cost):
            self.best_cost, self.best, self.since_gain = record.cost, record.knobs, 0
        if record.cost is not None and record.knobs == self.task.space.default:
            self.default_cost = record.cost
        if self.best_cost is not None:
            self.curve.append(self.best_cost)


OnTrial = Callable[[TaskProgress, TuningRecord], None]


def keep_silent(_progress: TaskProgress, _record: TuningRecord) -> None:
    """Does nothing; for callers that do not follow the trials."""


@dataclass(frozen=True, slots=True)
class Limits:
    trials: int  # over all tasks, without those of earlier runs
    early_stop: int | None = None  # stops a task after this many trials without a gain


def search(
    searches: Sequence[TaskProgress],
    bench: Bench,
    keep: Callable[[TuningRecord], None],
    setting: Setting,
    limits: Limits,
    on_trial: OnTrial,
) -> int:
    """Measures up to limits.trials new points and returns how many were measured."""
    done = 0
    while done < limits.trials:
        turn = _next_task(searches, limits)
        if turn is None:
            break
        points = _batch(turn, min(_BATCH, limits.trials - done))
        for record in _measured(turn, points, bench, setting):
            keep(record)
            turn.take(record)
            turn.tuner.learn([(record.knobs, record.cost)])
            on_trial(turn, record)
            done += 1
    return done


def resume(progress: TaskProgress, records: Iterable[TuningRecord], setting: Setting) -> None:
    """Adds results of earlier runs on the same board with the same compiler."""
    mine = (progress.task.name, setting.core, setting.compiler, setting.board, setting.unit)
    for record in records:
        if (record.task, record.core, record.compiler, record.board, record.unit) == mine:
            progress.take(record)
            progress.tuner.learn([(record.knobs, record.cost)])


def prior_points(records: Iterable[TuningRecord], task: Task) -> list[tuple[Mapping[str, int], float]]:
    """Returns points of similar kernels of any shape or board, with their relative costs."""
    kind = kind_of(task.name)
    return [
        (record.knobs, record.cost / record.default_cost)
        for record in records
        if kind_of(record.task) == kind and record.is_gain and record.cost and record.default_cost
    ]


def kind_of(task: str) -> str:
    """Returns op and element type. Tasks that share them can learn from each other."""
    name, *_, dtype = task.split(" ")
    return f"{name.rstrip('0123456789').partition('_')[0]} {dtype}"


def _next_task(searches: Sequence[TaskProgress], limits: Limits) -> TaskProgress | None:
    """Returns the task with the most cost per trial so far; tasks without a measured default come first."""
    alive = [p for p in searches if not p.tuner.is_done and not _has_stopped(p, limits)]
    return max(alive, key=lambda p: p.cost_in_model / (1 + p.tried), default=None)


def _has_stopped(progress: TaskProgress, limits: Limits) -> bool:
    return limits.early_stop is not None and progress.since_gain >= limits.early_stop


def _batch(progress: TaskProgress, most: int) -> list[Point]:
    """Returns the points to measure next, starting with the default."""
    if progress.default_cost is None and progress.tuner.is_open(key_of(progress.task.space.default)):
        default = progress.task.space.default
        progress.tuner.learn([(default, None)])
        return [default, *progress.tuner.propose(min(most, _LEAST) - 1)]
    return progress.tuner.propose(min(most, max(_LEAST, progress.tried)))


def _measured(
    progress: TaskProgress, points: Sequence[Point], bench: Bench, setting: Setting
) -> Iterable[TuningRecord]:
    task = progress.task
    candidates = [Candidate(point, task.kernel(point)) for point in points]
    outcomes = bench.measure(task, progress.experiment(), candidates)
    default = _default_cost(progress, points, outcomes, setting)
    for point, outcome in zip(points, outcomes, strict=True):
        cost = _cost(outcome, setting)
        yield TuningRecord(
            task=task.name,
            core=setting.core,
            knobs=dict(point),
            cost=cost,
            default_cost=default,
            error=outcome.error or ("" if default is not None else f"{Failure.BUILD.value}: the default"),
            compiler=setting.compiler,
            board=setting.board,
            unit=setting.unit,
            seconds=round(outcome.seconds, 4),
            tool=setting.tool,
            time=setting.now(),
        )


def _default_cost(
    progress: TaskProgress, points: Sequence[Point], outcomes: Sequence[Outcome], setting: Setting
) -> int | None:
    if progress.default_cost is not None:
        return progress.default_cost
    by_point = [
        _cost(o, setting) for p, o in zip(points, outcomes, strict=True) if p == progress.task.space.default
    ]
    return next(iter(by_point), None)


def _cost(outcome: Outcome, setting: Setting) -> int | None:
    """Returns the median over the repeats."""
    if not outcome.ticks:
        return None
    return max(1, setting.count(round(statistics.median_low(outcome.ticks))))
