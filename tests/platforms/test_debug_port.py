"""QEMU's debug port: the board stops when somebody connects, takes bytes as hex, and is let go."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from platforms.runners.gdb_stub import DebugPort, packet
from platforms.transport.base import LineClosedError


class Qemu(threading.Thread):
    """Answers as QEMU does: an acknowledgement, then OK, or nothing known for what is not."""

    def __init__(self, path: Path, refused: str = "") -> None:
        super().__init__(daemon=True)
        self.commands: list[str] = []
        self._refused = refused
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()

    def run(self) -> None:
        line, _ = self._server.accept()
        with line:
            line.sendall(packet("T02thread:01;"))
            while piece := line.recv(8192).decode():
                for each in filter(None, piece.split("$")):
                    self.commands.append(each.partition("#")[0])
                    answer = self._refused if self._refused and each[0] == "M" else "OK"
                    line.sendall(b"+" + packet(answer))
        self._server.close()


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # short: a socket's path has at most 107 characters
        yield Path(folder) / "debug"


def test_bytes_are_written_in_pieces_and_the_board_runs_on(path: Path) -> None:
    qemu, port = Qemu(path), DebugPort(path)
    qemu.start()
    port.write(0x20000000, bytes(2001))
    port.go()
    qemu.join(5)
    assert [command.partition(":")[0] for command in qemu.commands] == ["M20000000,7d0", "M200007d0,1", "D"]
    assert qemu.commands[1].endswith(":00")


def test_a_port_that_was_never_used_is_let_go_without_a_word(path: Path) -> None:
    port = DebugPort(path)
    port.go()
    port.close()


def test_memory_that_cannot_be_written_is_named(path: Path) -> None:
    Qemu(path, refused="E14").start()
    port = DebugPort(path)
    with pytest.raises(LineClosedError, match="QEMU's debug port refused M0,1: E14"):
        port.write(0, b"1")
    port.close()


def test_an_emulator_that_is_gone_is_an_error_of_the_device(path: Path) -> None:
    with pytest.raises(LineClosedError, match="QEMU's debug port does not answer: No such file"):
        DebugPort(path).stop()
