"""A compiler that is missing, an emulator that is missing, a device that does not answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deploy.firmware import Prepared, Ready
from platforms import toolchains
from platforms.base import Firmware, platform_of
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.messages import Expected

Complaint = Callable[..., str]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    np.savez(tmp_path / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return tmp_path / "in.npz"


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but Python."""
    monkeypatch.setattr(toolchains, "_look", lambda _candidate: None)
    monkeypatch.setattr("platforms.runners.qemu.shutil.which", lambda _name: None)
    monkeypatch.setattr("platforms.runners.unicorn_runner.find_spec", lambda _name: None)


def test_a_missing_cross_compiler(
    model: Path, inputs: Path, bare_machine: None, complaint: Complaint
) -> None:
    assert complaint("run", model, "--board", "mps2-an386", "--inputs", inputs) == (
        "error: no C compiler for cortex-m4 was found\n"
        "  looked for arm-none-eabi-gcc, zig\n"
        "  hint: install gcc-arm-none-eabi and libnewlib-arm-none-eabi, or: pip install 'solder-mcu[zig]'\n"
    )


def test_a_compiler_that_nobody_knows(model: Path, inputs: Path, complaint: Complaint) -> None:
    words = ("run", model, "--board", "mps2-an386", "--inputs", inputs, "--toolchain", "armcc")
    assert complaint(*words) == (
        'error: toolchain "armcc" is not known\n  hint: known for cortex-m4: arm-none-eabi-gcc, zig\n'
    )


def test_a_farm_that_is_named_where_it_is_not_asked_for_and_the_other_way_round(complaint: Complaint) -> None:
    assert complaint("farm", "status") == (
        "error: the status of a farm is asked for, and none is named\n"
        "  hint: deploy farm start shows its address\n"
    )
    wrong = (("start",), ("start", "tcp://127.0.0.1:1", "--board", "host"))
    for words in wrong:
        assert complaint("farm", *words) == (
            "error: a farm is started with a board, and finds its address itself\n"
            "  hint: deploy farm start --board B\n"
        )


def with_firmware(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built: this is the firmware."""

    def build(prepared: Prepared, *_: object) -> Ready:
        compiler = toolchains.Toolchain("cc", "gcc", ("cc",), "1")
        firmware = Firmware(elf, elf.parent, compiler, profile=False)
        return Ready(firmware, platform_of(prepared.board), prepared.board, Expected("tiny", bytes(32)))

    monkeypatch.setattr("deploy.commands.run.ready_for", build)


def test_missing_emulators(
    model: Path, inputs: Path, bare_machine: None, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_firmware(model, monkeypatch)
    assert complaint("run", model, "--board", "mps2-an386", "--inputs", inputs) == (
        "error: nothing on this machine can run firmware for mps2-an386: one of these is enough\n"
        "  qemu: needs qemu-system-arm (Debian: apt install qemu-system-arm)\n"
        "  unicorn: needs the Python package unicorn (pip install 'solder-mcu[unicorn]')\n"
    )


def test_a_runner_that_the_board_has_not(
    model: Path, inputs: Path, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_firmware(model, monkeypatch)
    assert complaint("run", model, "--board", "mps2-an386", "--inputs", inputs, "--runner", "qemo") == (
        'error: board "mps2-an386" has no runner "qemo" - did you mean "qemu"?\n'
        "  hint: runners of mps2-an386: qemu, unicorn\n"
    )


@pytest.fixture
def run_on(
    model: Path, inputs: Path, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """run_on(program): `deploy run` where this Python program is the device, with little patience."""
    hurried = Deadlines(hello_s=4.0, retry_s=0.1)
    monkeypatch.setattr("deploy.device.deadlines_for", lambda _line, _board, _run_s: hurried)
    with_firmware(model, monkeypatch)

    def run(program: str) -> str:
        argv = (sys.executable, "-c", program)
        monkeypatch.setattr("platforms.runners.exec.argv", lambda _elf, _board: argv)
        text = complaint("run", model, "--board", "host", "--inputs", inputs)
        return text.replace(Path(sys.executable).name, "PYTHON").replace(shlex.join(argv), "COMMAND")

    return run


@pytest.mark.slow
def test_a_device_that_does_not_answer(run_on: Callable[[str], str]) -> None:
    assert run_on("import time; time.sleep(60)") == (
        "error: device does not answer within 4 s (hello)\n"
        "  PYTHON\n"
        "  hint: check that the board is powered, runs the RPC firmware, and that this is its port\n"
    )


@pytest.mark.slow
def test_a_device_that_talks_of_something_else(run_on: Callable[[str], str]) -> None:
    text = run_on("import time; print('Hello, world!', flush=True); time.sleep(60)")
    assert text == (
        "error: device does not answer within 4 s (hello)\n"
        "  PYTHON\n"
        "  instead came 14 bytes that are not frames: b'Hello, world!\\n'\n"
        "  hint: the board talks, but not this protocol: flash the RPC firmware (deploy new --app rpc)\n"
    )


def test_a_device_that_ends(run_on: Callable[[str], str]) -> None:
    text = run_on("raise SystemExit(3)")
    assert text.startswith("error: PYTHON ended: exit status 3\n")
