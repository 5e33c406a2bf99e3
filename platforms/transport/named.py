"""Opens a line by name: a serial port, a pseudo-terminal, or tcp://HOST:PORT."""

from __future__ import annotations

import re
from pathlib import Path

from platforms.transport.base import LineClosedError, Transport

_TCP = "tcp://"
_PSEUDO = re.compile(r"/dev/(pts/\d+|ttys\d+)")  # Linux, macOS


def open_named(name: str, baud: int) -> Transport:
    """Opens the line exclusively. `baud` applies to serial ports."""
    if name.startswith(_TCP):
        from platforms.transport.socket import SocketTransport

        return SocketTransport(*_host_and_port(name))
    if _PSEUDO.fullmatch(str(Path(name).resolve())):
        from platforms.transport.pty import PtyTransport

        return PtyTransport(Path(name))
    from platforms.transport.serial_port import SerialTransport

    return SerialTransport(name, baud)


def _host_and_port(name: str) -> tuple[str, int]:
    host, _, port = name.removeprefix(_TCP).rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 0x1_0000:
        raise LineClosedError(f"{name} has no TCP port", hint="for example tcp://127.0.0.1:4000")
    return host.strip("[]"), int(port)
