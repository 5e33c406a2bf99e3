"""Terminal output: results on stdout, progress on stderr, tables with aligned columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from deploy.cli.command_result import Answer
from deploy.cli.terminal_width import fitted, fitted_table, terminal_columns


def print_result(as_json: bool, facts: Any, text: str, is_code: bool = False) -> None:
    """Prints a result as JSON or as text. Lines of code are not wrapped."""
    shown = text if is_code else fitted(text, terminal_columns())
    print(json.dumps(facts, indent=2) if as_json else shown)


def print_error(text: str) -> None:
    """Prints an error and its hint on stderr."""
    print(fitted(text, terminal_columns(sys.stderr)), file=sys.stderr)


def print_answer(as_json: bool, answer: Answer) -> None:
    """Prints an answer as JSON or as its page."""
    print_result(as_json, answer.facts, answer.page)


def count_text(value: int | None) -> str:
    """Formats a count for a table, or a dash for None."""
    return "-" if value is None else f"{value:,}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats a table with aligned columns, numbers to the right, no wider than the terminal."""
    columns = list(zip(heads, *rows, strict=True)) if rows else [(head,) for head in heads]
    right = [bool(rows) and all(_is_number(cell) for cell in column[1:]) for column in columns]
    return fitted_table([heads, *rows], right, terminal_columns())


def _is_number(cell: str) -> bool:
    return cell == "-" or cell[:1].isdigit()


class Progress(Protocol):
    """Receives the progress of long work."""

    def step(self, doing: str) -> None:
        """Reports that one of the announced steps begins."""


class _Quiet:
    def step(self, doing: str) -> None:
        """Does nothing."""


_is_shown: ContextVar[bool] = ContextVar("_is_shown", default=False)


@contextmanager
def progress_hidden() -> Iterator[None]:
    """Hides progress bars inside the block."""
    token = _is_shown.set(True)
    try:
        yield
    finally:
        _is_shown.reset(token)


@contextmanager
def progress(title: str, steps: int) -> Iterator[Progress]:
    """Shows a bar on stderr inside the block, if stderr is a terminal and no other bar is shown."""
    if _is_shown.get() or not sys.stderr.isatty():
        yield _Quiet()
        return
    from deploy.cli.progress_bar import progress_bar  # rich is slow to import

    token = _is_shown.set(True)
    try:
        with progress_bar(title, steps) as bar:
            yield bar
    finally:
        _is_shown.reset(token)
