"""Waits for file descriptors with poll(), on POSIX systems."""

from __future__ import annotations

import os
import select
import time

from platforms.transport.flow import LineEnds


class PolledFlow:
    """Waits until a descriptor is ready, so that reading or writing it does not block."""

    def __init__(self, ends: LineEnds) -> None:
        self._ends = ends
        os.set_blocking(ends.read_fd, False)
        os.set_blocking(ends.write_fd, False)

    @property
    def is_sending(self) -> bool:
        return False

    def read(self, max_bytes: int, deadline_s: float) -> bytes | None:
        if not _is_ready(self._ends.read_fd, select.POLLIN, deadline_s):
            return None
        try:
            return self._ends.receive(max_bytes)
        except BlockingIOError:
            return None
        except OSError:  # a closed pty reports EIO, a closed socket ECONNRESET
            return b""

    def write(self, data: bytes, deadline_s: float) -> bool:
        give_up_at = time.monotonic() + deadline_s
        rest = memoryview(data)
        while rest:
            if not _is_ready(self._ends.write_fd, select.POLLOUT, give_up_at - time.monotonic()):
                return False
            try:
                rest = rest[self._ends.send(rest) :]
            except BlockingIOError:
                continue
        return True


def _is_ready(fd: int, event: int, deadline_s: float) -> bool:
    waiter = select.poll()
    waiter.register(fd, event)
    return bool(waiter.poll(max(0.0, deadline_s) * 1000))
