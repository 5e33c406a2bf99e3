"""Every test has a time limit, after which it fails by its name, in a worker too, Ctrl-C ignored or not."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import IO

import pytest

# As parts of the limit. A clean-up that waits for what hangs is interrupted again, and again.
AGAIN = 1 / 40
# Code that no signal interrupts, such as a model compiled into this process, ends the process: its
# traceback names the test, and so does xdist, which goes on with the next one in another worker.
GRACE = 1 / 4
_ERRORS = pytest.StashKey[IO[str]]()


class TimeIsUpError(BaseException):
    """No code under test catches it as a failure of its own, and hypothesis does not try to shrink it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("time_limit_s", "seconds that each of a test's setup, call and teardown may take")


def pytest_configure(config: pytest.Config) -> None:
    """Keeps a way to the terminal, since file 2 is another one while a test runs."""
    config.stash[_ERRORS] = os.fdopen(os.dup(2), "w")


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_ERRORS].close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item, "setup"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item, "call"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item, "teardown"):
        return (yield)


@contextmanager
def _limited(item: pytest.Item, phase: str) -> Generator[None, None, None]:
    limit_s = float(item.config.getini("time_limit_s"))

    def end_it(number: int, frame: FrameType | None) -> None:
        raise TimeIsUpError(f"the {phase} of {item.nodeid} took longer than {limit_s:g} s")

    faulthandler.dump_traceback_later(limit_s * (1 + GRACE), exit=True, file=item.config.stash[_ERRORS])
    try:
        with _alarm(end_it, limit_s):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _alarm(end_it: Callable[[int, FrameType | None], None], limit_s: float) -> Generator[None, None, None]:
    """Calls a function when the time is up; without that signal the process is ended later."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, end_it)
    signal.setitimer(signal.ITIMER_REAL, limit_s, limit_s * AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
