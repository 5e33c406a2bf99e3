"""Pages about tuning records: the best of each task, and the trials."""

from __future__ import annotations

from typing import Any

from deploy.cli.console import count_text, table
from platforms.tuning.record_stats import TaskStats, best_text


def best_page(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "default", "best", "gain", "knobs")
    rows = [
        (s.task, s.core, s.board, count_text(s.default), count_text(s.best), s.gain_text, best_text(s))
        for s in stats
    ]
    return table(heads, rows)


def stats_page(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "trials", "failed", "trials/s", "best at trial", "why they failed")
    return table(heads, [_stats_row(each) for each in stats])


def _stats_row(s: TaskStats) -> tuple[str, ...]:
    counts = (str(s.trials), str(s.failed), f"{s.trials_per_s:.1f}", str(s.best_at or "-"))
    return (s.task, s.core, s.board, *counts, "; ".join(f"{n} {why}" for why, n in s.failures))


def stats_facts(s: TaskStats) -> dict[str, Any]:
    return {
        "task": s.task,
        "core": s.core,
        "board": s.board,
        "compiler": s.compiler,
        "trials": s.trials,
        "failed": s.failed,
        "failures": dict(s.failures),
        "default_cost": s.default,
        "best_cost": s.best,
        "best": dict(s.knobs) if s.knobs is not None else None,
        "best_at": s.best_at,
        "trials_per_s": round(s.trials_per_s, 2),
    }
