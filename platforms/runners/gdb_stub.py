"""An emulated board's debug port, as QEMU's `-gdb` gives it: stops the board, and writes its memory.

QEMU takes some 20 MB a second this way, and 12 kB a second through an emulated UART.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from platforms.transport.base import LineClosedError

_PIECE = 2000  # bytes: written as hex they fit the 4096 characters that QEMU takes at once
_REGISTER_BYTES = 4
_PATIENCE_S = 10.0
_DETACH = "D"
_THIS_COMPUTER = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class DebugAddress:
    """The place of a debug port: a file that only this user reaches, or a number where none can be one."""

    folder: Path
    tcp_port: int = 0

    @property
    def option(self) -> str:
        """The value of QEMU's `-gdb` that has it listen there."""
        place = f"tcp:{_THIS_COMPUTER}:{self.tcp_port}" if self.tcp_port else f"unix:{self._file}"
        return f"{place},server=on,wait=off"

    def connected(self) -> socket.socket:
        """A connection to the port. Raises OSError."""
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
    """A file in that folder; on Windows a port of this computer that is free now."""
    if hasattr(socket, "AF_UNIX"):
        return DebugAddress(folder)
    with socket.create_server((_THIS_COMPUTER, 0)) as server:
        return DebugAddress(folder, server.getsockname()[1])


class DebugPort:
    """A board's debug port; the board stands still from stop() or write() until go()."""

    def __init__(self, address: DebugAddress) -> None:
        self._address = address
        self._line: socket.socket | None = None
        self._replies: Iterator[str] = iter(())

    def stop(self) -> None:
        """Stops the board by connecting to its port, which QEMU confirms."""
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
        """Reads a core register of the standing board."""
        first = 2 * _REGISTER_BYTES * number
        words = self._answer("g")[first : first + 2 * _REGISTER_BYTES]
        return int.from_bytes(bytes.fromhex(words), "little")

    def stop_at(self, address: int) -> None:
        """Has the board stand still before it executes the instruction there."""
        self._ask(f"Z0,{address:x},2")

    def pass_by(self, address: int) -> None:
        """Takes back stop_at()."""
        self._ask(f"z0,{address:x},2")

    def monitor(self, command: str) -> None:
        """Gives a command to QEMU's monitor."""
        self._ask(f"qRcmd,{command.encode().hex()}")

    def resume(self) -> None:
        """Lets the board go on; returns when it stands still again."""
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
        hint="QEMU has ended or was stopped by somebody else: run the command again",
    )


def packet(text: str) -> bytes:
    """Writes $text#checksum, as in GDB's remote protocol."""
    return f"${text}#{sum(text.encode()) % 256:02x}".encode()


def _replies(line: socket.socket) -> Iterator[str]:
    """Yields the texts of the packets that arrive, and skips the acknowledgements between them."""
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
