"""Shows a progress bar on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(title: str, steps: int) -> Iterator[Callable[[int, int, str], None]]:
    """Shows a bar inside the block and removes it afterwards; yields what moves it: done, steps, doing."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=steps)

        def move(done: int, steps: int, doing: str) -> None:
            bars.update(task, completed=done, total=steps, description=f"{title}: {doing}" if doing else None)

        yield move
