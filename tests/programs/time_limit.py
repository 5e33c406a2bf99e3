"""Every test has a time limit, after which it fails by its name, in a worker too, Ctrl-C ignored or not.

The limit is one of processor time, with that of the programs that it runs: other work on the machine takes
none of it. There is one by the clock, too, which ends what waits for what never comes.
"""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

import pytest
from processor_time import Mark

# As parts of the limit by the clock. A clean-up that waits for what hangs is interrupted again, and again.
AGAIN = 1 / 40
# Code that no signal interrupts, such as a model compiled into this process, ends the process: its
# traceback names the test, and so does xdist, which goes on with the next one in another worker.
GRACE = 1 / 4
_ERRORS = pytest.StashKey[IO[str]]()
_WATCHED_SINCE = pytest.StashKey[float]()
_BEGAN = pytest.StashKey[Mark]()  # of the setup; looking around for each phase takes a fifth of a quick test


class TimeIsUpError(BaseException):
    """No code under test catches it as a failure of its own, and hypothesis does not try to shrink it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("time_limit_s", "seconds of processor time for a test, its setup and teardown among it")
    parser.addini("clock_limit_s", "seconds by the clock for each of its setup, call, teardown")


def pytest_configure(config: pytest.Config) -> None:
    """Keeps a way to the terminal, since file 2 is another one while a test runs."""
    config.stash[_ERRORS] = os.fdopen(os.dup(2), "w")


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_ERRORS].close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """Nobody watches a process that waits for the tests of another worker."""
    try:
        return (yield)
    finally:
        if nextitem is None:
            _end_watch(item.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    item.stash[_BEGAN] = Mark()
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
    limit_s, by_clock_s = (float(item.config.getini(name)) for name in ("time_limit_s", "clock_limit_s"))
    mark, began_s = item.stash[_BEGAN], time.monotonic()

    def end_it(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, by_clock_s * AGAIN)  # from now on: looking takes its time, too
        if mark.used_s() >= limit_s:
            raise TimeIsUpError(f"the {phase} of {item.nodeid} took {limit_s:g} s of processor time")
        if time.monotonic() - began_s >= by_clock_s:
            raise TimeIsUpError(f"the {phase} of {item.nodeid} took longer than {by_clock_s:g} s")

    _watch(item.config, by_clock_s)
    try:
        with _alarm(end_it, min(limit_s, by_clock_s)):
            yield
    finally:
        if not _began_a_moment_ago(item.config, by_clock_s):
            _end_watch(item.config)


@contextmanager
def _alarm(end_it: Callable[[int, FrameType | None], None], limit_s: float) -> Generator[None, None, None]:
    """Calls a function when the time may be up; without that signal the process is ended later."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, end_it)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _watch(config: pytest.Config, by_clock_s: float) -> None:
    """Ends the process when that limit and its grace are over. It takes a thread each time, for which a
    quick test would wait longer than it runs: a watch that began a moment ago serves the next one, too."""
    if not _began_a_moment_ago(config, by_clock_s):
        ends_in_s = by_clock_s * (1 + GRACE + AGAIN)
        faulthandler.dump_traceback_later(ends_in_s, exit=True, file=config.stash[_ERRORS])
        config.stash[_WATCHED_SINCE] = time.monotonic()


def _began_a_moment_ago(config: pytest.Config, by_clock_s: float) -> bool:
    return time.monotonic() - config.stash.get(_WATCHED_SINCE, -math.inf) < by_clock_s * AGAIN


def _end_watch(config: pytest.Config) -> None:
    faulthandler.cancel_dump_traceback_later()
    config.stash[_WATCHED_SINCE] = -math.inf
