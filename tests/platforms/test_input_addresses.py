"""A board in QEMU gets its inputs past the line, whose emulated UART takes its time for each byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import deploy
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.project import App, ProjectSource
from platforms.rpc.frame import Decoder, Packet
from platforms.rpc.protocol import Message
from platforms.runners.qemu import QemuLine

SAMPLES = 3
TOOLS = {
    "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
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
def test_inputs_are_written_past_the_line(
    board: str, asked: Counter[int], require_tool: Callable[..., None]
) -> None:
    require_tool(*TOOLS[board])
    samples = np.random.default_rng(5).integers(-128, 128, (SAMPLES, 1, 8, 8, 1), np.int8)
    found = deploy.run(digits(), samples, board=board).outputs
    expected = [deploy.load(digits()).run(sample) for sample in samples]
    for name, each in found.items():
        np.testing.assert_array_equal(each, np.stack([one[name] for one in expected]))
    assert (asked[Message.INPUT_ADDRESS], asked[Message.RUN], asked[Message.WRITE]) == (SAMPLES, SAMPLES, 0)


@pytest.mark.arm
@pytest.mark.qemu
def test_with_a_trace_they_go_over_the_line_and_are_in_it(
    tmp_path: Path, run_deploy: Callable[..., object], require_tool: Callable[..., None]
) -> None:
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
def test_only_firmware_for_such_boards_tells_where_its_inputs_lie(
    board: str, platform: str, file: str, does: bool, tiny: ProjectSource
) -> None:
    found = load_board(board)
    assert ("SOLDER_INPUT_ADDRESS" in platform_of(found, platform).files(tiny, found, App.RPC)[file]) == does


def digits() -> Path:
    return Path(str(deploy.__file__)).parent / "demo" / "digits.tflite"
