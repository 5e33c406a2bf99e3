"""QEMU's debug port: the board stops when somebody connects, takes bytes as hex, and is let go."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from platforms.runners.gdb_stub import DebugAddress, DebugPort, debug_address, packet
from platforms.transport.base import LineClosedError


class Qemu(threading.Thread):
    """Answers as QEMU does: an acknowledgement, then OK, or nothing known for what is not."""

    def __init__(self, address: DebugAddress, refused: str = "") -> None:
        super().__init__(daemon=True)
        self.commands: list[str] = []
        self._refused = refused
        kind, _, place = address.option.partition(",")[0].partition(":")
        if kind == "unix":
            self._server = socket.socket(socket.AF_UNIX)
            self._server.bind(place)
            self._server.listen()
        else:
            self._server = socket.create_server(("127.0.0.1", int(place.rpartition(":")[2])))

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


@pytest.fixture(params=["a file", "a number"])
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[DebugAddress]:
    with tempfile.TemporaryDirectory() as folder:  # short: a socket's path has at most 107 characters
        if request.param == "a number":
            monkeypatch.delattr(socket, "AF_UNIX", raising=False)
        yield debug_address(Path(folder))


def test_bytes_are_written_in_pieces_and_the_board_runs_on(address: DebugAddress) -> None:
    qemu, port = Qemu(address), DebugPort(address)
    qemu.start()
    port.write(0x20000000, bytes(2001))
    port.go()
    qemu.join(5)
    assert [command.partition(":")[0] for command in qemu.commands] == ["M20000000,7d0", "M200007d0,1", "D"]
    assert qemu.commands[1].endswith(":00")


def test_a_port_that_was_never_used_is_let_go_without_a_word(address: DebugAddress) -> None:
    port = DebugPort(address)
    port.go()
    port.close()


def test_memory_that_cannot_be_written_is_named(address: DebugAddress) -> None:
    Qemu(address, refused="E14").start()
    port = DebugPort(address)
    with pytest.raises(LineClosedError, match="QEMU's debug port refused M0,1: E14"):
        port.write(0, b"1")
    port.close()


def test_an_emulator_that_is_gone_is_an_error_of_the_device(address: DebugAddress) -> None:
    with pytest.raises(
        LineClosedError, match=r"QEMU's debug port does not answer: (No such file|Connection refused)"
    ) as caught:
        DebugPort(address).stop()
    assert caught.value.hint == "QEMU ended or was stopped by another program: run the command again"
