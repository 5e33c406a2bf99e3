"""A TCP connection as a line: an emulator's serial port, a serial server, a host process."""

from __future__ import annotations

import contextlib
import socket

from platforms.transport.base import LineClosedError
from platforms.transport.descriptor import DescriptorTransport
from platforms.transport.flow import LineEnds
from platforms.transport.lock import PortLock


class SocketTransport(DescriptorTransport):
    """Connects to host:port exclusively, because a server may let a second client wait forever."""

    def __init__(self, host: str, port: int, deadline_s: float = 5.0) -> None:
        name = f"{host}:{port}"
        self._lock = PortLock(f"tcp://{name}")
        try:
            self._socket = socket.create_connection((host, port), timeout=deadline_s)
        except OSError as error:
            self._lock.release()
            raise LineClosedError(
                f"cannot connect to {name}: {error.strerror or error}",
                hint="check that the emulator or serial server is running, and that this is its port",
            ) from error
        self._socket.settimeout(None)
        # Otherwise each small frame waits at least 40 ms for the acknowledgment of the previous one.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = self._socket.fileno()
        super().__init__(name, LineEnds(number, number, self._socket.recv, self._socket.send))

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            with contextlib.suppress(OSError):  # the other end may have closed first
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes up a reading thread
            self._socket.close()
            self._lock.release()
