"""Choosing a runner, and the command lines of each; nothing is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from error_facts import refused

from aot.errors import BoardError, ToolError
from aot.trust import module_argv
from platforms.board_files import load_board
from platforms.runners import EMULATORS, exec, qemu, simavr, unicorn_runner
from platforms.runners.runner import choose_runner, flash_commands

ELF = Path("/p/build/firmware.elf")
AN386 = load_board("mps2-an386")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with neither emulator."""
    monkeypatch.setattr(qemu, "missing", lambda: "needs qemu-system-arm")
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "needs unicorn")


def test_qemu_counts_instructions_and_has_the_uart_on_its_stdio() -> None:
    assert " ".join(qemu.argv(ELF, AN386)) == (
        "qemu-system-arm -M mps2-an386 -nographic -monitor none -serial stdio "
        "-semihosting-config enable=on,target=native -icount shift=8 -kernel /p/build/firmware.elf"
    )


def test_qemu_runs_freely_where_no_time_per_instruction_is_given() -> None:
    board = replace(AN386, own_counter=replace(AN386.counter, instruction_ns=None))
    assert "-icount" not in qemu.argv(ELF, board)


def test_the_unicorn_process_is_told_the_boards_facts() -> None:
    assert unicorn_runner.argv(ELF, AN386) == (
        *module_argv("platforms.runners.unicorn_machine"),
        str(ELF.resolve()),
        "--cpu",
        "ARM_CORTEX_M4",
        "--part=0xc24",
        "--flash=0x0:0x400000",
        "--ram=0x20000000:0x400000",
        "--uart=0x40004000",
        "--counter=0x40028018:25000000:32:256",
    )


def test_the_host_runs_its_program_by_its_whole_path() -> None:
    assert exec.argv(Path("build/firmware"), load_board("host")) == (str(Path.cwd() / "build/firmware"),)


@pytest.mark.parametrize("name", EMULATORS)
def test_nothing_is_flashed_where_the_program_is_loaded_at_its_start(name: str) -> None:
    assert flash_commands(name, ELF, AN386) == ()


def test_simavr_is_told_the_chip_and_its_clock() -> None:
    assert simavr.argv(ELF, load_board("arduino-mega")) == (
        "/p/build/simavr_machine",
        "atmega2560",
        "16000000",
        str(ELF),
    )


def test_qemu_goes_before_unicorn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "missing", lambda: "")
    assert choose_runner(AN386) == "qemu"


def test_unicorn_serves_where_qemu_is_missing(without: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "")
    assert choose_runner(AN386) == "unicorn"


def test_the_wanted_runner_goes_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "missing", lambda: "")
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "")
    assert choose_runner(AN386, "unicorn") == "unicorn"


def test_no_emulator_at_all_is_reported_with_both(without: None) -> None:
    refused(
        lambda: choose_runner(AN386),
        "mps2-an386 Install program machine runs qemu-system-arm needs unicorn",
        ToolError,
    )


def test_without_a_probe_the_emulator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for runner in ("pyocd", "openocd", "west"):
        monkeypatch.setattr(f"platforms.runners.{runner}.missing", lambda: "needs a tool")
    with pytest.raises(ToolError, match="emulate its core with --emulated"):
        choose_runner(load_board("nucleo-f446re"))


def test_a_runner_that_the_board_does_not_have_is_reported() -> None:
    refused(
        lambda: choose_runner(AN386, "qemuu"),
        '"mps2-an386" "qemuu" "qemu"? board runner mean mps2-an386 runners unicorn',
        BoardError,
    )
