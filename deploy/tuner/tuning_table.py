"""Shows the table of a search: each task with trials, best cost and share, and the remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from codegen.kernels.knobs import point_text
from codegen.kernels.tuning_records import TuningRecord
from deploy.cli.console import count_text, table
from deploy.compiler.accelerator_tasks import DeviceTask
from deploy.tuner.tune_model import Tuning
from platforms.tuning.search import OnTrial, TaskProgress, keep_silent

HEADS = ("", "task", "layers", "share", "space", "tried", "failed", "default", "best", "gain", "knobs")
DEVICE_HEADS = ("kind of layer", "layers", "run with accelerator", "run with CPU", "computed by")
_NARROW_HEADS = ("", "task", "share", "tried", "failed", "default", "best", "gain")
_WIDEST_TASK = 24  # so that the live table fits 80 columns
_LEAST_TASKS = 4  # minimum shown, even in a low terminal
_LINES_AROUND = 6  # title, headings and frame
_EVERY_S = 0.25  # update interval of the live table


def rows(searches: Sequence[TaskProgress]) -> list[tuple[str, ...]]:
    whole = sum(p.default_in_model for p in searches) or 1
    return [_row(number, p, whole) for number, p in enumerate(searches, 1)]


def _row(number: int, p: TaskProgress, whole: float) -> tuple[str, ...]:
    what = (str(number), p.task.name, str(p.task.layers), f"{p.default_in_model / whole:.1%}")
    counts = (f"{len(p.tuner.points):,}", f"{p.tried:,}", f"{p.failed:,}")
    costs = (count_text(p.default_cost), count_text(p.best_cost), f"{p.gain:.1%}" if p.tried else "-")
    return (*what, *counts, *costs, _knobs(p))


def narrow_rows(searches: Sequence[TaskProgress], most: int) -> list[tuple[str, ...]]:
    """Returns rows for a terminal: the `most` tasks with the largest share."""
    whole = sum(p.default_in_model for p in searches) or 1
    numbered = sorted(enumerate(searches, 1), key=lambda each: -each[1].default_in_model)[:most]
    return [_narrow(_row(number, p, whole)) for number, p in sorted(numbered, key=lambda each: each[0])]


def _narrow(row: tuple[str, ...]) -> tuple[str, ...]:
    number, task, _layers, share, _points, tried, failed, default, best, gain, _knobs = row
    name = task if len(task) <= _WIDEST_TASK else f"{task[: _WIDEST_TASK - 1]}…"
    return (number, name, share, tried, failed, default, best, gain)


def _knobs(p: TaskProgress) -> str:
    if p.best is None:
        return "-"
    return "as default" if p.best == p.task.space.default else point_text(p.best)


def text(tuning: Tuning) -> str:
    """Returns the whole table."""
    return table(HEADS, rows(tuning.searches))


def devices_text(tuning: Tuning) -> str:
    """Returns the table of layers that accelerators compute or could compute."""
    return table(DEVICE_HEADS, [_device_row(task) for task in tuning.devices])


def _device_row(task: DeviceTask) -> tuple[str, ...]:
    place = "the CPU" if task.stays_on_cpu else task.name.partition(":")[0]
    return (task.name, str(task.layers), count_text(task.on_device), count_text(task.on_cpu), place)


@contextmanager
def live(trials: int) -> Iterator[Callable[[Tuning], OnTrial]]:
    """Shows the table on stderr inside the block, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _tuning: keep_silent
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as screen:
        yield lambda tuning: _Screen(tuning, trials, screen.update, screen.console.height)


class _Screen:
    """Redraws the table after trials, at a limited rate."""

    def __init__(self, tuning: Tuning, trials: int, show: Callable[..., None], height: int) -> None:
        self._most = max(height - _LINES_AROUND, _LEAST_TASKS)
        self._tuning, self._trials, self._show = tuning, trials, show
        self._begun = self._shown = time.monotonic()
        self._done = 0
        self._show(self._drawn(0.0))

    def __call__(self, _progress: TaskProgress, _record: TuningRecord) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= _EVERY_S or self._done == self._trials:
            self._shown = now
            self._show(self._drawn(now - self._begun))

    def _drawn(self, seconds: float) -> object:
        from rich.table import Table

        rate = self._done / seconds if seconds else 0.0
        left = (self._trials - self._done) / rate if rate else 0.0
        title = f"{self._done} of {self._trials} trials, {rate:.1f} a second, {left:.0f} s left"
        drawn = Table(*_NARROW_HEADS, title=title, box=None, padding=(0, 1))
        for row in narrow_rows(self._tuning.searches, self._most):
            drawn.add_row(*row)
        return drawn
