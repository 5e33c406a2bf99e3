"""Choosing a platform, a compiler and a runner, and their command lines; nothing is started."""

from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from error_facts import refused

from aot.errors import BoardError, MissingToolError, ToolError
from aot.target import Feature, Target
from aot.trust import module_argv
from deploy.devices.buildable_boards import platform_here
from deploy.host_tools.tool_inventory import ability
from platforms import toolchains, zephyr
from platforms.board_files import load_board
from platforms.runners import EMULATORS, exec, qemu, simavr, unicorn_runner
from platforms.runners.runner import choose_runner, flash_commands
from platforms.toolchains import Toolchain, compilers_of, cpu_flags, find_toolchain

M4 = load_board("mps2-an386").target
HOST = load_board("host").target

FLAGS = (
    ("mps2-an385", "gcc", "-mthumb -mcpu=cortex-m3 -mfloat-abi=soft"),
    ("mps2-an385", "zig", "-target thumb-freestanding-eabi -mcpu=cortex_m3"),
    ("mps2-an386", "gcc", "-mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"),
    ("mps2-an386", "zig", "-target thumb-freestanding-eabihf -mcpu=cortex_m4+vfp4d16sp"),
    ("mps2-an500", "gcc", "-mthumb -mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard"),
    ("mps2-an500", "zig", "-target thumb-freestanding-eabihf -mcpu=cortex_m7+fp_armv8d16sp"),
    ("mps2-an505", "gcc", "-mthumb -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard"),
    ("mps2-an505", "zig", "-target thumb-freestanding-eabihf -mcpu=cortex_m33+dsp+fp_armv8d16sp"),
    ("mps3-an547", "gcc", "-mthumb -mcpu=cortex-m55 -mfpu=auto -mfloat-abi=hard"),
    ("mps3-an547", "zig", "-target thumb-freestanding-eabihf -mcpu=cortex_m55+mve_fp"),
    ("host", "gcc", ""),
    ("host", "zig", ""),
)


@pytest.fixture
def machine_with(monkeypatch):
    """machine_with("gcc", ...): only these compilers are there."""
    monkeypatch.delenv(toolchains.PREFER_VARIABLE, raising=False)

    def use(*names: str) -> None:
        def look(candidate: toolchains._KnownCompiler) -> Toolchain | None:
            there = candidate.name in names
            return Toolchain(candidate.name, candidate.family, (candidate.name,), "1.0") if there else None

        monkeypatch.setattr(toolchains, "_look", look)

    return use


@pytest.mark.parametrize(("board", "family", "flags"), FLAGS)
def test_options_for_a_core_are_spelled_as_the_compiler_wants(board, family, flags):
    assert " ".join(cpu_flags(load_board(board).target, family)) == flags


def test_a_core_without_dsp_is_compiled_without_it():
    target = Target("cortex-m33", frozenset({Feature.UNALIGNED}))
    assert cpu_flags(target, "gcc") == ("-mthumb", "-mcpu=cortex-m33+nodsp", "-mfloat-abi=soft")
    assert cpu_flags(target, "zig") == ("-target", "thumb-freestanding-eabi", "-mcpu=cortex_m33")


def test_a_core_without_options_of_a_compiler_is_reported():
    refused(
        lambda: cpu_flags(Target("avr"), "clang"), "options known compilers boards/core/avr.toml", ToolError
    )


@pytest.mark.parametrize("core", ["avr", "xtensa-lx7"])
def test_no_compiler_of_another_machine_is_taken_for_a_core(core, machine_with):
    machine_with("arm-none-eabi-gcc", "zig", "gcc", "clang", "riscv64-unknown-elf-gcc")
    refused(
        lambda: find_toolchain(Target(core)), f"C {core} compiler called directly board platform", ToolError
    )


def test_the_systems_compiler_goes_before_zig(machine_with):
    machine_with("arm-none-eabi-gcc", "zig", "gcc")
    assert find_toolchain(M4).name == "arm-none-eabi-gcc"
    assert find_toolchain(HOST).name == "gcc"


def test_zig_serves_where_nothing_else_is(machine_with):
    machine_with("zig")
    assert find_toolchain(M4).name == find_toolchain(HOST).name == "zig"


def test_the_preferred_compiler_goes_before_all(machine_with):
    machine_with("arm-none-eabi-gcc", "zig")
    assert find_toolchain(M4, prefer="zig").name == "zig"


def test_the_environment_names_a_preference_where_it_fits(machine_with, monkeypatch):
    machine_with("arm-none-eabi-gcc", "zig", "gcc", "clang")
    monkeypatch.setenv("SOLDER_TOOLCHAIN", "clang")
    assert find_toolchain(HOST).name == "clang"
    assert find_toolchain(M4).name == "arm-none-eabi-gcc"


def test_no_compiler_at_all_is_reported_with_the_way_out(machine_with):
    machine_with("gcc")
    refused(
        lambda: find_toolchain(M4),
        "C cortex-m4 compiler found arm-none-eabi-gcc looked gcc-arm-none-eabi "
        "libnewlib-arm-none-eabi 'solder-mcu[zig]' install",
        ToolError,
    )


def test_an_unknown_preference_is_reported(machine_with):
    machine_with("zig")
    refused(
        lambda: find_toolchain(M4, prefer="arm-none-eabi-gc"),
        '"arm-none-eabi-gc" "arm-none-eabi-gcc"? toolchain known mean cortex-m4 arm-none-eabi-gcc',
        ToolError,
    )


def test_zig_of_a_package_is_started_without_a_python_each_time(monkeypatch, tmp_path):
    zig = next(known for known in toolchains._CANDIDATES if known.name == "zig")
    package = ModuleSpec("ziglang", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(toolchains, "find_spec", lambda name: package)
    assert toolchains._start(zig) == (*module_argv("ziglang"), "cc")
    (tmp_path / "zig").touch()
    assert toolchains._start(zig) == (str(tmp_path / "zig"), "cc")
    monkeypatch.setattr(toolchains, "find_spec", lambda name: None)
    assert toolchains._start(zig) is None


def test_gcc_is_not_asked_for_what_its_header_lacks():
    target = load_board("qemu-riscv32-vectors").target
    assert [name for name, _ in compilers_of(target)] == ["zig"]
    with pytest.raises(ToolError, match="known for rv32imac-zve32x: zig"):
        find_toolchain(target, "riscv64-unknown-elf-gcc")


ELF = Path("/p/build/firmware.elf")
AN386 = load_board("mps2-an386")


@pytest.fixture
def without(monkeypatch):
    """A machine with neither emulator."""
    monkeypatch.setattr(qemu, "missing", lambda: "needs qemu-system-arm")
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "needs unicorn")


def test_qemu_counts_instructions_and_has_the_uart_on_its_stdio():
    assert " ".join(qemu.argv(ELF, AN386)) == (
        "qemu-system-arm -M mps2-an386 -nographic -monitor none -serial stdio "
        "-semihosting-config enable=on,target=native -icount shift=8 -kernel /p/build/firmware.elf"
    )


def test_qemu_runs_freely_where_no_time_per_instruction_is_given():
    board = replace(AN386, own_counter=replace(AN386.counter, instruction_ns=None))
    assert "-icount" not in qemu.argv(ELF, board)


def test_the_unicorn_process_is_told_the_boards_facts():
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


def test_the_host_runs_its_program_by_its_whole_path():
    assert exec.argv(Path("build/firmware"), load_board("host")) == (str(Path.cwd() / "build/firmware"),)


@pytest.mark.parametrize("name", EMULATORS)
def test_nothing_is_flashed_where_the_program_is_loaded_at_its_start(name):
    assert flash_commands(name, ELF, AN386) == ()


def test_simavr_is_told_the_chip_and_its_clock():
    assert simavr.argv(ELF, load_board("arduino-mega")) == (
        "/p/build/simavr_machine",
        "atmega2560",
        "16000000",
        str(ELF),
    )


def test_qemu_goes_before_unicorn(monkeypatch):
    monkeypatch.setattr(qemu, "missing", lambda: "")
    assert choose_runner(AN386) == "qemu"


def test_unicorn_serves_where_qemu_is_missing(without, monkeypatch):
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "")
    assert choose_runner(AN386) == "unicorn"


def test_the_wanted_runner_goes_before_all(monkeypatch):
    monkeypatch.setattr(qemu, "missing", lambda: "")
    monkeypatch.setattr(unicorn_runner, "missing", lambda: "")
    assert choose_runner(AN386, "unicorn") == "unicorn"


def test_no_emulator_at_all_is_reported_with_both(without):
    refused(
        lambda: choose_runner(AN386),
        "mps2-an386 Install program machine runs qemu-system-arm needs unicorn",
        ToolError,
    )


def test_without_a_probe_the_emulator_is_named(monkeypatch):
    for runner in ("pyocd", "openocd", "west"):
        monkeypatch.setattr(f"platforms.runners.{runner}.missing", lambda: "needs a tool")
    with pytest.raises(ToolError, match="emulate its core with --emulated"):
        choose_runner(load_board("nucleo-f446re"))


def test_a_runner_that_the_board_does_not_have_is_reported():
    refused(
        lambda: choose_runner(AN386, "qemuu"),
        '"mps2-an386" "qemuu" "qemu"? board runner mean mps2-an386 runners unicorn',
        BoardError,
    )


def no_zephyr(*_: object, **__: object) -> None:
    raise MissingToolError("west is not here", "", "pip install west")


@pytest.mark.arm
def test_a_board_with_gcc_alone_is_built_for_bare_metal(monkeypatch):
    monkeypatch.setattr(zephyr.PLATFORM.__class__, "toolchain", no_zephyr)
    board = load_board("nucleo-f446re")
    assert next(iter(board.platforms)) == "zephyr"
    assert platform_here(board).name == "baremetal"
    found = ability(board)
    assert (found.platform, found.compiler) == ("baremetal", "arm-none-eabi-gcc")


def test_a_board_that_cannot_be_built_says_what_its_first_platform_lacks(monkeypatch):
    monkeypatch.setattr(zephyr.PLATFORM.__class__, "toolchain", no_zephyr)
    board = replace(load_board("nucleo-f446re"), platforms={"zephyr": {"board": "nucleo_f446re"}})
    found = ability(board)
    assert (found.platform, found.compiler) == (None, None)
    assert found.lacks[0] == "pip install west"


def test_an_esp32_board_without_firmware_is_shown_the_way_of_its_own_tools():
    with pytest.raises(BoardError) as caught:
        platform_here(load_board("esp32-devkitc"))
    assert "--as esp-idf" in caught.value.hint
