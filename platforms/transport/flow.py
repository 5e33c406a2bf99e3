"""Two ends of a line and how bytes move through them with deadlines; each kind of system has its way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LineEnds:
    """The end that is read and the end that is written, which may be the same."""

    read_fd: int
    write_fd: int
    receive: Callable[[int], bytes]  # at most so many bytes; none when the other end has closed
    send: Callable[[memoryview], int]  # returns how many bytes were taken


def ends_of(read_fd: int, write_fd: int) -> LineEnds:
    """The ends behind two descriptors."""
    return LineEnds(read_fd, write_fd, partial(os.read, read_fd), partial(os.write, write_fd))


class Flow(Protocol):
    """Bytes through two ends. Deadlines are seconds from now."""

    @property
    def is_sending(self) -> bool:
        """True while the other end does not take bytes that are on their way: it cannot be closed yet."""

    def read(self, max_bytes: int, deadline_s: float) -> bytes | None:
        """Returns what has come, as soon as it has; no bytes when the end is gone, None at the deadline."""

    def write(self, data: bytes, deadline_s: float) -> bool:
        """Returns whether all was taken in time. Raises OSError when nobody is there."""
