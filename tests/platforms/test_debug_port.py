"""QEMU's debug port, and inputs that reach a board past its slow line."""

import socket
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import deploy
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.project import App
from platforms.rpc.frame import Decoder, Packet
from platforms.rpc.protocol import Message
from platforms.runners.gdb_stub import DebugAddress, DebugPort, debug_address, packet
from platforms.runners.qemu import QemuLine
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
def address(request, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:  # short: a socket's path has at most 107 characters
        if request.param == "a number":
            monkeypatch.delattr(socket, "AF_UNIX", raising=False)
        yield debug_address(Path(folder))


def test_bytes_are_written_in_pieces_and_the_board_runs_on(address):
    qemu, port = Qemu(address), DebugPort(address)
    qemu.start()
    port.write(0x20000000, bytes(2001))
    port.go()
    qemu.join(5)
    assert [command.partition(":")[0] for command in qemu.commands] == ["M20000000,7d0", "M200007d0,1", "D"]
    assert qemu.commands[1].endswith(":00")


def test_a_port_that_was_never_used_is_let_go_without_a_word(address):
    port = DebugPort(address)
    port.go()
    port.close()


def test_memory_that_cannot_be_written_is_named(address):
    Qemu(address, refused="E14").start()
    port = DebugPort(address)
    with pytest.raises(LineClosedError, match="QEMU's debug port refused M0,1: E14"):
        port.write(0, b"1")
    port.close()


def test_an_emulator_that_is_gone_is_an_error_of_the_device(address):
    with pytest.raises(
        LineClosedError, match=r"QEMU's debug port does not answer: (No such file|Connection refused)"
    ) as caught:
        DebugPort(address).stop()
    assert caught.value.hint == "QEMU ended or was stopped by another program: run the command again"


SAMPLES = 3
TOOLS = {
    "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}


@pytest.fixture
def asked(monkeypatch):
    """How often each kind of request went over QEMU's line."""
    kinds, decoder, write = Counter[int](), Decoder(), QemuLine.write

    def counted(line: QemuLine, data: bytes, deadline_s: float) -> None:
        kinds.update(Packet.unpack(each).kind for each in decoder.feed(data) if isinstance(each, bytes))
        write(line, data, deadline_s)

    monkeypatch.setattr(QemuLine, "write", counted)
    return kinds


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("board", TOOLS)
def test_inputs_are_written_past_the_line(board, asked, require_tool):
    require_tool(*TOOLS[board])
    samples = np.random.default_rng(5).integers(-128, 128, (SAMPLES, 1, 8, 8, 1), np.int8)
    found = deploy.run(digits(), samples, board=board).outputs
    expected = [deploy.load(digits()).run(sample) for sample in samples]
    for name, each in found.items():
        np.testing.assert_array_equal(each, np.stack([one[name] for one in expected]))
    assert (asked[Message.INPUT_ADDRESS], asked[Message.RUN], asked[Message.WRITE]) == (SAMPLES, SAMPLES, 0)


@pytest.mark.arm
@pytest.mark.qemu
def test_with_a_trace_they_go_over_the_line_and_are_in_it(tmp_path, run_deploy, require_tool):
    require_tool(*TOOLS["mps2-an386"])
    trace = tmp_path / "trace"
    run_deploy("run", digits(), "--board", "mps2-an386", "--fill", "random", "--trace", trace)
    said = trace.read_text(encoding="utf-8")
    assert "-> write #" in said
    assert "-> input_address #" not in said


@pytest.mark.parametrize(
    ("board", "platform", "file", "does"),
    [
        ("mps2-an386", "baremetal", "flags/gcc/cpu", True),
        ("nucleo-f446re", "baremetal", "flags/gcc/cpu", False),
        ("mps2-an385", "zephyr", "CMakeLists.txt", True),
        ("nrf52840dk", "zephyr", "CMakeLists.txt", False),
    ],
)
def test_only_firmware_for_such_boards_tells_where_its_inputs_lie(board, platform, file, does, tiny):
    found = load_board(board)
    assert ("SOLDER_INPUT_ADDRESS" in platform_of(found, platform).files(tiny, found, App.RPC)[file]) == does


def digits() -> Path:
    return Path(str(deploy.__file__)).parent / "demo" / "digits.tflite"
