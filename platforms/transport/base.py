"""A line to a device: a bidirectional byte stream in which every call has a deadline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from aot.errors import DeviceError


class LineClosedError(DeviceError):
    """Raised if the other end is closed, or if the line cannot be opened."""


class LineBusyError(DeviceError):
    """Raised if another process uses the line."""


class LineStuckError(DeviceError):
    """Raised if the other end does not accept data."""


class Transport(ABC):
    """An open line. Deadlines are seconds from now in real time."""

    name: str  # for messages, in the user's terms
    bits_per_second: int = 0  # 0: not limited by a baud rate
    reaches_memory: bool = False  # write_memory() is supported
    is_program: bool = False  # the device is a child process: when it ends, the line closes

    @abstractmethod
    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        """Returns available bytes, at least one; b"" if the deadline passes first.

        Raises LineClosedError if the other end is closed and all its data has been read.
        """

    @abstractmethod
    def write(self, data: bytes, deadline_s: float) -> None:
        """Sends all data.

        Raises LineStuckError at the deadline, and LineClosedError if the line is closed.
        """

    def set_rate(self, _bits_per_second: int) -> bool:
        """Changes the baud rate; returns whether that is supported. Most lines have none."""
        return False

    def write_memory(self, _address: int, _data: bytes) -> None:
        """Writes the waiting device's memory directly."""
        raise NotImplementedError(f"{self.name} cannot access memory")

    def rest(self) -> None:  # noqa: B027 - most lines have nothing to do
        """Marks the line as idle: an emulated device may be suspended until the next read or write."""

    @abstractmethod
    def close(self) -> None:
        """Releases the line. May be called twice, but no other method may be called afterwards."""


class Clock(Protocol):
    """A monotonic clock in seconds, such as time.monotonic."""

    def __call__(self) -> float: ...


def stuck(name: str, deadline_s: float) -> LineStuckError:
    return LineStuckError(
        f"{name} accepted no bytes for {deadline_s:g} s",
        hint="the device may be stopped in a debugger or crashed; reset it and try again",
    )
