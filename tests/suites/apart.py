"""Calls functions in another process: compiled code that crashes there fails a test and does not end it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CrashedError(Exception):
    """The process has ended within the call."""


class Apart:
    """One process that imports what it is asked to call, and another one after a crash."""

    def __init__(self) -> None:
        self._pool = _pool()

    def call(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        try:
            return self._pool.submit(function, *args, **kwargs).result()
        except BrokenProcessPool:
            self._pool = _pool()
            raise CrashedError(f"{function.__name__} has crashed") from None

    def __enter__(self) -> Apart:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    # Spawned: nothing of the process that calls is there, neither its memory nor its locks.
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))
