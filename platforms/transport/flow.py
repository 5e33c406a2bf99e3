"""File descriptors of a line, and reading and writing them with deadlines, for each operating system."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LineEnds:
    """The descriptors for reading and writing, which may be the same."""

    read_fd: int
    write_fd: int
    receive: Callable[[int], bytes]  # argument: maximum bytes; returns b"" if the other end is closed
    send: Callable[[memoryview], int]  # returns the number of bytes accepted


def ends_of(read_fd: int, write_fd: int) -> LineEnds:
    """Returns the ends for two file descriptors."""
    return LineEnds(read_fd, write_fd, partial(os.read, read_fd), partial(os.write, write_fd))


class Flow(Protocol):
    """A byte stream over two ends. Deadlines are seconds from now."""

    @property
    def is_sending(self) -> bool:
        """True while written bytes are pending, so the line cannot be closed yet."""

    def read(self, max_bytes: int, deadline_s: float) -> bytes | None:
        """Returns available bytes; b"" if the other end is closed, None at the deadline."""

    def write(self, data: bytes, deadline_s: float) -> bool:
        """Returns whether all data was accepted in time. Raises OSError if the other end is closed."""
