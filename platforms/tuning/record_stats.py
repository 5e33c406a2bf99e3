"""Computes statistics of tuning records by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codegen.kernels.knobs import Point, point_text
from codegen.kernels.tuning_records import TuningRecord


@dataclass(frozen=True)
class TaskStats:
    """Statistics of one task on one board with one compiler."""

    task: str
    core: str
    board: str
    compiler: str
    unit: str
    trials: int
    failed: int
    failures: tuple[tuple[str, int], ...]  # reason -> count, most frequent first
    default: int | None
    best: int | None
    knobs: Point | None
    best_at: int | None  # number of the trial that found it, from 1
    seconds: float
    curve: tuple[int, ...]  # best cost after each trial, from the first one with a cost

    @property
    def gain_text(self) -> str:
        if self.default is None or self.best is None:
            return "-"
        return f"{1 - self.best / self.default:.1%}"

    @property
    def trials_per_s(self) -> float:
        return self.trials / self.seconds if self.seconds else 0.0


def task_stats(records: Iterable[TuningRecord]) -> tuple[TaskStats, ...]:
    """Returns statistics by task, in order of first occurrence."""
    groups: dict[tuple[str, ...], list[TuningRecord]] = {}
    for record in records:
        groups.setdefault((record.task, record.core, record.board, record.compiler, record.unit), []).append(
            record
        )
    return tuple(_stats(group) for group in groups.values())


def _stats(group: Sequence[TuningRecord]) -> TaskStats:
    first = group[0]
    measured = [(record.cost, place) for place, record in enumerate(group, 1) if record.cost is not None]
    best, place = min(measured, default=(None, None))
    failures = Counter(record.error.partition(":")[0] for record in group if record.error)
    return TaskStats(
        task=first.task,
        core=first.core,
        board=first.board,
        compiler=first.compiler,
        unit=first.unit,
        trials=len(group),
        failed=sum(failures.values()),
        failures=tuple(failures.most_common()),
        default=next((r.default_cost for r in group if r.default_cost is not None), None),
        best=best,
        knobs=group[place - 1].knobs if place is not None else None,
        best_at=place,
        seconds=sum(record.seconds for record in group),
        curve=_curve([cost for cost, _ in measured]),
    )


def _curve(costs: Sequence[int]) -> tuple[int, ...]:
    curve: list[int] = []
    for cost in costs:
        curve.append(min(cost, curve[-1]) if curve else cost)
    return tuple(curve)


def best_text(stats: TaskStats) -> str:
    return point_text(stats.knobs) if stats.knobs is not None else "-"
