"""A compiler that is missing, an emulator that is missing, a device that does not answer."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.devices.firmware import Prepared, Ready
from platforms import toolchains
from platforms.base import Firmware, platform_of
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.messages import Expected


@pytest.fixture
def inputs(tmp_path):
    np.savez(tmp_path / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return tmp_path / "in.npz"


@pytest.fixture
def bare_machine(monkeypatch):
    """Nothing but Python."""
    monkeypatch.setattr(toolchains, "_look", lambda _candidate: None)
    monkeypatch.setattr("platforms.runners.qemu.shutil.which", lambda _name: None)
    monkeypatch.setattr("platforms.runners.unicorn_runner.find_spec", lambda _name: None)


def test_a_missing_cross_compiler(model, inputs, bare_machine, complaint):
    error = complaint("run", model, "--board", "mps2-an386", "--inputs", inputs)
    error.names("E602", "no C compiler for cortex-m4", "arm-none-eabi-gcc, zig", "gcc-arm-none-eabi")
    error.names("E602", "pip install 'solder-mcu[zig]'")


def test_a_compiler_that_nobody_knows(model, inputs, complaint):
    words = ("run", model, "--board", "mps2-an386", "--inputs", inputs, "--toolchain", "armcc")
    complaint(*words).names("E601", '"armcc"', "cortex-m4: arm-none-eabi-gcc, zig")


def test_a_farm_that_is_named_where_it_is_not_asked_for_and_the_other_way_round(complaint):
    complaint("farm", "status").names("E102", "status", "deploy farm start")
    wrong = (("start",), ("start", "tcp://127.0.0.1:1", "--board", "host"))
    for words in wrong:
        complaint("farm", *words).names("E102", "address", "deploy farm start --board B")


def with_firmware(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built: this is the firmware."""

    def build(prepared: Prepared, *_: object) -> Ready:
        compiler = toolchains.Toolchain("cc", "gcc", ("cc",), "1")
        firmware = Firmware(elf, elf.parent, compiler, profile=False)
        return Ready(firmware, platform_of(prepared.board), prepared.board, Expected("tiny", bytes(32)))

    monkeypatch.setattr("deploy.cli.commands.run.ready_for", build)


def test_missing_emulators(model, inputs, bare_machine, complaint, monkeypatch):
    with_firmware(model, monkeypatch)
    error = complaint("run", model, "--board", "mps2-an386", "--inputs", inputs)
    error.names("E602", "mps2-an386", "qemu-system-arm", "apt install qemu-system-arm")
    error.names("E602", "unicorn", "pip install 'solder-mcu[unicorn]'")


def test_a_runner_that_the_board_has_not(model, inputs, complaint, monkeypatch):
    with_firmware(model, monkeypatch)
    error = complaint("run", model, "--board", "mps2-an386", "--inputs", inputs, "--runner", "qemo")
    error.names("E401", '"mps2-an386"', '"qemo"', 'did you mean "qemu"?', "qemu, unicorn")


@pytest.fixture
def run_on(model, inputs, complaint, monkeypatch):
    """run_on(program): `deploy run` where this Python program is the device, with little patience."""
    hurried = Deadlines(hello_s=4.0, retry_s=0.1)
    monkeypatch.setattr("deploy.devices.session.deadlines_for", lambda _line, _board, _run_s: hurried)
    with_firmware(model, monkeypatch)

    def run(program: str) -> Any:
        argv = (sys.executable, "-c", program)
        monkeypatch.setattr("platforms.runners.exec.argv", lambda _elf, _board: argv)
        return complaint("run", model, "--board", "host", "--inputs", inputs)

    return run


@pytest.mark.slow
def test_a_device_that_does_not_answer(run_on):
    error = run_on("import time; time.sleep(60)")
    error.names("E702", "4 s (hello)", Path(sys.executable).name, "hint: check that the board is powered")


@pytest.mark.slow
def test_a_device_that_talks_of_something_else(run_on):
    error = run_on("import time; print('Hello, world!', flush=True); time.sleep(60)")
    error.names("E702", "4 s (hello)", "14 bytes", "b'Hello, world!\\n'", "deploy new --app rpc")


def test_a_device_that_ends(run_on):
    run_on("raise SystemExit(3)").names("E710", Path(sys.executable).name, "exit status 3")
