"""Moves bytes with deadlines through POSIX file descriptors, for pipes, sockets and pseudo terminals."""

from __future__ import annotations

import os
import time

from platforms.transport.base import LineClosedError, Transport, stuck
from platforms.transport.system import can_read, can_write


class DescriptorTransport(Transport):
    """Reads one descriptor and writes another (or the same)."""

    def __init__(self, name: str, read_fd: int, write_fd: int) -> None:
        self.name = name
        self._read_fd = read_fd
        self._write_fd = write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        if not can_read(self._read_fd, deadline_s):
            return b""
        try:
            received = os.read(self._read_fd, max_bytes)
        except BlockingIOError:
            return b""
        except OSError:  # a pty whose other end closed says EIO, a socket ECONNRESET
            received = b""
        if not received:
            raise self._closed()
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        give_up_at = time.monotonic() + deadline_s
        rest = memoryview(data)
        while rest:
            if not can_write(self._write_fd, give_up_at - time.monotonic()):
                raise stuck(self.name, deadline_s)
            rest = rest[self._write_some(rest) :]

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._write_fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._closed() from error

    def _closed(self) -> LineClosedError:
        return LineClosedError(f"{self.name} closed the line")
