"""Shows a progress bar on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Bar:
    """A progress bar that advances when the next step begins."""

    def __init__(self, bars: Progress, title: str, steps: int) -> None:
        self._bars, self._title, self._done = bars, title, -1
        self._task = bars.add_task(title, total=steps)

    def step(self, doing: str) -> None:
        self._done += 1
        self._bars.update(self._task, completed=self._done, description=f"{self._title}: {doing}")


@contextmanager
def progress_bar(title: str, steps: int) -> Iterator[Bar]:
    """Shows a bar inside the block and removes it afterwards."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Bar(bars, title, steps)
