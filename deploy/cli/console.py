"""Terminal output: results on stdout, progress on stderr, tables with aligned columns."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from aot.wording import harmless
from deploy.cli.command_result import Answer
from deploy.cli.terminal_width import fitted, fitted_table, terminal_columns

P = ParamSpec("P")
R = TypeVar("R")


def print_result(as_json: bool, facts: Any, text: str, is_code: bool = False) -> None:
    """Prints a result as JSON or as text. Lines of code are not wrapped.

    Names in files of others may hold control characters, which would reach the terminal.
    """
    shown = text if is_code else fitted(text, terminal_columns())
    print(json.dumps(facts, indent=2) if as_json else harmless(shown))


def print_error(text: str) -> None:
    """Prints an error and its hint on stderr."""
    print(harmless(fitted(text, terminal_columns(sys.stderr))), file=sys.stderr)


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


@dataclass(frozen=True, slots=True)
class Step:
    """One step of long work; the steps of one title follow each other, and then those of the next one."""

    title: str  # the work: "exploring", "running", "quantizing"
    doing: str  # what begins now, or has just ended if several run at once; empty once all is done
    done: int  # steps that are done
    steps: int  # that were announced; work that finds its result early does fewer

    def __str__(self) -> str:
        what = f": {self.doing}" if self.doing else ""
        return f"{self.title} {self.done}/{self.steps}{what}"


OnProgress = Callable[[Step], None]


class Progress(Protocol):
    """Receives the progress of long work."""

    def step(self, doing: str) -> None:
        """Reports that one of the announced steps begins."""

    def ended(self, what: str) -> None:
        """Reports that a step has ended, of work whose steps run at once."""


class _Steps:
    """Counts the steps of one title, and calls whoever follows them."""

    def __init__(self, title: str, steps: int, followers: Sequence[OnProgress]) -> None:
        self._title, self._steps, self._followers, self._begun = title, steps, followers, 0

    def step(self, doing: str) -> None:
        self._report(doing, self._begun)
        self._begun += 1

    def ended(self, what: str) -> None:
        self._begun += 1
        self._report(what, self._begun)

    def end(self) -> None:
        """Reports that all steps are done."""
        self._report("", self._begun)

    def _report(self, doing: str, done: int) -> None:
        for follow in self._followers:
            follow(Step(self._title, doing, done, max(self._steps, done)))


_is_taken: ContextVar[bool] = ContextVar("_is_taken", default=False)  # by work around this one
_listener: ContextVar[OnProgress | None] = ContextVar("_listener", default=None)


@contextmanager
def progress_hidden() -> Iterator[None]:
    """Hides progress inside the block."""
    token = _is_taken.set(True)
    try:
        yield
    finally:
        _is_taken.reset(token)


@contextmanager
def progress(title: str, steps: int, has_bar: bool = True) -> Iterator[Progress]:
    """Reports the steps inside the block: to a listener, and as a bar on stderr if that is a terminal.

    Only the outermost block reports, so that counts never go back.
    """
    if _is_taken.get():
        yield _Steps(title, steps, ())
        return
    listener = _listener.get()
    followers = [] if listener is None else [listener]
    token = _is_taken.set(True)
    try:
        with ExitStack() as stack:
            if has_bar and sys.stderr.isatty():
                from deploy.cli.progress_bar import progress_bar  # rich is slow to import

                move = stack.enter_context(progress_bar(title, steps))
                followers.append(lambda step: move(step.done, step.steps, step.doing))
            counted = _Steps(title, steps, followers)
            yield counted
            counted.end()
    finally:
        _is_taken.reset(token)


def reports_progress(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function call its keyword `on_progress` with each step of the work inside it."""

    @functools.wraps(function)
    def call(*arguments: P.args, **given: P.kwargs) -> R:
        listener = cast("OnProgress | None", given.get("on_progress"))
        if listener is None:  # perhaps inside a function that has one
            return function(*arguments, **given)
        token = _listener.set(listener)
        try:
            return function(*arguments, **given)
        finally:
            _listener.reset(token)

    line = "`on_progress(step)` is called with each step of long work; if it raises, the work stops."
    call.__doc__ = f"{inspect.getdoc(function)}\n\n{line}"
    return call
