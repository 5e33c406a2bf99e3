"""Devices of the unicorn board: Arm's CMSDK UART, and the SysTick timer."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

# Arm's CMSDK UART, connected to two file descriptors.

DATA, STATE = 0x00, 0x04
RX_FULL = 2
FULL_BUFFER = 4096
IDLE_POLLS = 3  # a sender reads STATE once per byte; this many reads in a row mean that it waits for input


class EndOfInput(Exception):  # noqa: N818 - an event, not an error
    """The other end is closed, and the firmware has read all input."""


class EmulatedUart:
    """Transfers bytes in large pieces. Firmware that polls for input waits without using the processor."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._received = bytearray()
        self._at = 0
        self._to_send = bytearray()
        self._polls = 0
        self.on_received: Callable[[], None] = lambda: None

    def read(self, offset: int) -> int:
        if offset == STATE:
            return RX_FULL if self._has_byte() else 0
        if offset == DATA and self._at < len(self._received):
            self._at += 1
            return self._received[self._at - 1]
        return 0

    def write(self, offset: int, value: int) -> None:
        if offset == DATA:
            self._polls = 0
            self._to_send.append(value & 0xFF)
            # A zero ends a frame. Send it now, because a long computation may follow while the host waits.
            if (value == 0 and len(self._to_send) > 1) or len(self._to_send) >= FULL_BUFFER:
                self.flush()

    def flush(self) -> None:
        while self._to_send:
            del self._to_send[: os.write(self._write_fd, self._to_send)]

    def _has_byte(self) -> bool:
        if self._at < len(self._received):
            return True
        self._polls += 1
        if self._polls < IDLE_POLLS:
            return False
        self.flush()
        self._received, self._at, self._polls = bytearray(os.read(self._read_fd, FULL_BUFFER)), 0, 0
        if not self._received:
            raise EndOfInput
        self.on_received()
        return True


# The Cortex-M SysTick timer, limited to what deadlines need: an exception after a number of instructions.

CSR, RVR = 0x010, 0x014  # offsets in the system control space
ENABLED_WITH_EXCEPTION = 3
NEVER = math.inf


class SysTick:
    """Counts down from RVR at `hz`, repeatedly; each instruction lasts `instruction_ns`."""

    def __init__(self, hz: int, instruction_ns: int) -> None:
        self._instructions_per_tick = 1_000_000_000 / (hz * instruction_ns)
        self._reload = 0
        self.due_at = NEVER

    def write(self, offset: int, value: int, now: int) -> None:
        if offset == RVR:
            self._reload = value & 0xFFFFFF
        elif offset == CSR:
            runs = value & ENABLED_WITH_EXCEPTION == ENABLED_WITH_EXCEPTION
            self.due_at = now + self._period() if runs else NEVER

    def reset(self) -> None:
        self.due_at = NEVER

    def next(self) -> None:
        """Restarts counting when the exception is entered."""
        self.due_at += self._period()

    def _period(self) -> int:
        return math.ceil((self._reload + 1) * self._instructions_per_tick)
