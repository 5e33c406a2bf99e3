"""A connection for programs with an event loop. Calls are awaited and queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any


class AwaitableLine:
    """The methods of an open connection and the functions of its firmware, as coroutines.

    A thread communicates with the device. Calls from several tasks run in sequence. A canceled task ends
    after the device has answered, so that the line is free for the next call.
    """

    def __init__(self, line: Any) -> None:
        """Wraps an open line, which creates this object. The type is not named to avoid a cyclic import."""
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
            # Looked up in the thread, because the list of functions may have to be requested.
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
