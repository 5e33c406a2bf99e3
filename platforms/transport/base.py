"""A line to a device, which carries bytes both ways; every call has a deadline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from aot.errors import DeviceError


class LineClosedError(DeviceError):
    """The other end is gone, or the line could not be opened."""


class LineBusyError(DeviceError):
    """Another process uses the line."""


class LineStuckError(DeviceError):
    """The other end takes no bytes."""


class Transport(ABC):
    """An open line. Deadlines are seconds from now, on the real clock."""

    name: str  # for messages: what a person would call this line
    bits_per_second: int = 0  # 0: as fast as the two ends are
    reaches_memory: bool = False  # write_memory() is there
    is_program: bool = False  # the device is a program started here: its end is the end of the line

    @abstractmethod
    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        """Returns what has come, as soon as at least one byte has; empty when the deadline passes first.

        Raises LineClosedError when the other end is gone and everything it sent was read.
        """

    @abstractmethod
    def write(self, data: bytes, deadline_s: float) -> None:
        """Sends all; raises LineStuckError when that takes longer, LineClosedError when nobody is there."""

    def set_rate(self, _bits_per_second: int) -> bool:
        """Changes the line's rate; returns whether that is possible. Most lines have no rate."""
        return False

    def write_memory(self, _address: int, _data: bytes) -> None:
        """Writes the waiting device's memory directly."""
        raise NotImplementedError(f"{self.name} does not reach memory")

    def rest(self) -> None:  # noqa: B027 - most lines have nothing to do
        """Says that the device has answered: an emulated one may stand still until the next read or write."""

    @abstractmethod
    def close(self) -> None:
        """Releases the line. Closing twice is fine; nothing else may follow."""


class Clock(Protocol):
    """Seconds that only grow, such as time.monotonic."""

    def __call__(self) -> float: ...


def stuck(name: str, deadline_s: float) -> LineStuckError:
    return LineStuckError(
        f"{name} took no more bytes for {deadline_s:g} s",
        hint="the device may be stopped in a debugger or crashed; reset it and try again",
    )
