"""A line for programs with an event loop: each call is awaited, and waits its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any


class AwaitableLine:
    """The methods of an open line and the functions of its firmware, to be awaited.

    A thread speaks with the device meanwhile. Calls of several tasks come one after the other, in their
    order. A task that is cancelled ends when the device has answered: the line is then free for the next one.
    """

    def __init__(self, line: Any) -> None:
        """Takes an open line, which makes this object and is not named here for that reason."""
        self._line = line
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> AwaitableLine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._later(self._line.close)

    def __repr__(self) -> str:
        return f"<awaitable {repr(self._line).strip('<>')}>"

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

        def awaited(*values: Any, **named: Any) -> Coroutine[Any, Any, Any]:
            # Looked up in the thread: which functions there are may have to be asked.
            return self._later(lambda: getattr(self._line, name)(*values, **named))

        return awaited

    async def _later(self, work: Callable[[], Any]) -> Any:
        async with self._turn:
            done = asyncio.get_running_loop().run_in_executor(None, partial(work))
            try:
                return await asyncio.shield(done)
            except asyncio.CancelledError:
                await asyncio.wait([done])
                raise
