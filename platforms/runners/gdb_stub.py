"""QEMU's debug port (`-gdb`), which can stop the emulated board and write its memory.

It transfers about 20 MB per second; an emulated UART, 12 kB per second.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from platforms.transport.base import LineClosedError

_PIECE = 2000  # bytes; as hex they fit into QEMU's limit of 4096 characters
_REGISTER_BYTES = 4
_PATIENCE_S = 10.0
_DETACH = "D"
_THIS_COMPUTER = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class DebugAddress:
    """The address of a debug port: a private socket file, or a TCP port if that is not supported."""

    folder: Path
    tcp_port: int = 0

    @property
    def option(self) -> str:
        """Returns the value of QEMU's `-gdb` for this address."""
        place = f"tcp:{_THIS_COMPUTER}:{self.tcp_port}" if self.tcp_port else f"unix:{self._file}"
        return f"{place},server=on,wait=off"

    def connected(self) -> socket.socket:
        """Connects to the port. Raises OSError."""
        if self.tcp_port:
            return socket.create_connection((_THIS_COMPUTER, self.tcp_port), _PATIENCE_S)
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(_PATIENCE_S)
        try:
            line.connect(str(self._file))
        except OSError:
            line.close()
            raise
        return line

    @property
    def _file(self) -> Path:
        return self.folder / "debug"


def debug_address(folder: Path) -> DebugAddress:
    """Returns a socket file in `folder`, or on Windows a TCP port that is currently free."""
    if hasattr(socket, "AF_UNIX"):
        return DebugAddress(folder)
    with socket.create_server((_THIS_COMPUTER, 0)) as server:
        return DebugAddress(folder, server.getsockname()[1])


class DebugPort:
    """A board's debug port. The board is halted from stop() or write() until go()."""

    def __init__(self, address: DebugAddress) -> None:
        self._address = address
        self._line: socket.socket | None = None
        self._replies: Iterator[str] = iter(())

    def stop(self) -> None:
        """Halts the board by connecting to its port, and waits for QEMU's confirmation."""
        if self._line is None:
            self._line = _connected(self._address)
            self._replies = _replies(self._line)
            next(self._replies)

    def write(self, address: int, data: bytes) -> None:
        self.stop()
        for first in range(0, len(data), _PIECE):
            piece = data[first : first + _PIECE]
            self._ask(f"M{address + first:x},{len(piece):x}:{piece.hex()}")

    def register(self, number: int) -> int:
        """Reads a core register of the halted board."""
        first = 2 * _REGISTER_BYTES * number
        words = self._answer("g")[first : first + 2 * _REGISTER_BYTES]
        return int.from_bytes(bytes.fromhex(words), "little")

    def stop_at(self, address: int) -> None:
        """Sets a breakpoint at an address."""
        self._ask(f"Z0,{address:x},2")

    def pass_by(self, address: int) -> None:
        """Removes a breakpoint set by stop_at()."""
        self._ask(f"z0,{address:x},2")

    def monitor(self, command: str) -> None:
        """Sends a command to QEMU's monitor."""
        self._ask(f"qRcmd,{command.encode().hex()}")

    def resume(self) -> None:
        """Resumes the board and waits until it halts again."""
        assert self._line is not None
        self._line.settimeout(None)
        self._answer("c")
        self._line.settimeout(_PATIENCE_S)

    def go(self) -> None:
        if self._line is not None:
            self._ask(_DETACH)
            self.close()

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None

    def _answer(self, command: str) -> str:
        assert self._line is not None
        try:
            self._line.sendall(packet(command))
        except OSError as error:
            raise _gone(error) from error
        return next(self._replies)

    def _ask(self, command: str) -> None:
        answer = self._answer(command)
        if answer != "OK":
            said = answer or "not known"
            raise LineClosedError(f"QEMU's debug port refused {command.partition(':')[0]}: {said}")


def _connected(address: DebugAddress) -> socket.socket:
    try:
        return address.connected()
    except OSError as error:
        raise _gone(error) from error


def _gone(error: OSError) -> LineClosedError:
    return LineClosedError(
        f"QEMU's debug port does not answer: {error.strerror or error}",
        hint="QEMU ended or was stopped by another program: run the command again",
    )


def packet(text: str) -> bytes:
    """Formats a packet of GDB's remote protocol: $text#checksum."""
    return f"${text}#{sum(text.encode()) % 256:02x}".encode()


def _replies(line: socket.socket) -> Iterator[str]:
    """Yields the texts of received packets, skipping acknowledgements."""
    waiting = b""
    while True:
        begin, end = waiting.find(b"$"), waiting.find(b"#")
        if 0 <= begin < end <= len(waiting) - 3:
            yield waiting[begin + 1 : end].decode()
            waiting = waiting[end + 3 :]
            continue
        waiting += _received(line)


def _received(line: socket.socket) -> bytes:
    try:
        some = line.recv(4096)
    except OSError as error:
        raise _gone(error) from error
    if not some:
        raise LineClosedError("QEMU closed its debug port")
    return some
