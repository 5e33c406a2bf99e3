"""Choosing a compiler, and the options that make it compile for a core."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from error_facts import refused

from aot.errors import ToolError
from aot.target import Feature, Target
from aot.trust import module_argv
from platforms import toolchains
from platforms.board_files import load_board
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
def machine_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """machine_with("gcc", ...): only these compilers are there."""
    monkeypatch.delenv(toolchains.PREFER_VARIABLE, raising=False)

    def use(*names: str) -> None:
        def look(candidate: toolchains._KnownCompiler) -> Toolchain | None:
            there = candidate.name in names
            return Toolchain(candidate.name, candidate.family, (candidate.name,), "1.0") if there else None

        monkeypatch.setattr(toolchains, "_look", look)

    return use


@pytest.mark.parametrize(("board", "family", "flags"), FLAGS)
def test_options_for_a_core_are_spelled_as_the_compiler_wants(board: str, family: str, flags: str) -> None:
    assert " ".join(cpu_flags(load_board(board).target, family)) == flags


def test_a_core_without_dsp_is_compiled_without_it() -> None:
    target = Target("cortex-m33", frozenset({Feature.UNALIGNED}))
    assert cpu_flags(target, "gcc") == ("-mthumb", "-mcpu=cortex-m33+nodsp", "-mfloat-abi=soft")
    assert cpu_flags(target, "zig") == ("-target", "thumb-freestanding-eabi", "-mcpu=cortex_m33")


def test_a_core_without_options_of_a_compiler_is_reported() -> None:
    refused(
        lambda: cpu_flags(Target("avr"), "clang"), "options known compilers boards/core/avr.toml", ToolError
    )


@pytest.mark.parametrize("core", ["avr", "xtensa-lx7"])
def test_no_compiler_of_another_machine_is_taken_for_a_core(
    core: str, machine_with: Callable[..., None]
) -> None:
    machine_with("arm-none-eabi-gcc", "zig", "gcc", "clang", "riscv64-unknown-elf-gcc")
    refused(
        lambda: find_toolchain(Target(core)), f"C {core} compiler called directly board platform", ToolError
    )


def test_the_systems_compiler_goes_before_zig(machine_with: Callable[..., None]) -> None:
    machine_with("arm-none-eabi-gcc", "zig", "gcc")
    assert find_toolchain(M4).name == "arm-none-eabi-gcc"
    assert find_toolchain(HOST).name == "gcc"


def test_zig_serves_where_nothing_else_is(machine_with: Callable[..., None]) -> None:
    machine_with("zig")
    assert find_toolchain(M4).name == find_toolchain(HOST).name == "zig"


def test_the_preferred_compiler_goes_before_all(machine_with: Callable[..., None]) -> None:
    machine_with("arm-none-eabi-gcc", "zig")
    assert find_toolchain(M4, prefer="zig").name == "zig"


def test_the_environment_names_a_preference_where_it_fits(
    machine_with: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine_with("arm-none-eabi-gcc", "zig", "gcc", "clang")
    monkeypatch.setenv("SOLDER_TOOLCHAIN", "clang")
    assert find_toolchain(HOST).name == "clang"
    assert find_toolchain(M4).name == "arm-none-eabi-gcc"


def test_no_compiler_at_all_is_reported_with_the_way_out(machine_with: Callable[..., None]) -> None:
    machine_with("gcc")
    refused(
        lambda: find_toolchain(M4),
        "C cortex-m4 compiler found arm-none-eabi-gcc looked gcc-arm-none-eabi "
        "libnewlib-arm-none-eabi 'solder-mcu[zig]' install",
        ToolError,
    )


def test_an_unknown_preference_is_reported(machine_with: Callable[..., None]) -> None:
    machine_with("zig")
    refused(
        lambda: find_toolchain(M4, prefer="arm-none-eabi-gc"),
        '"arm-none-eabi-gc" "arm-none-eabi-gcc"? toolchain known mean cortex-m4 arm-none-eabi-gcc',
        ToolError,
    )


def test_zig_of_a_package_is_started_without_a_python_each_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    zig = next(known for known in toolchains._CANDIDATES if known.name == "zig")
    package = ModuleSpec("ziglang", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(toolchains, "find_spec", lambda name: package)
    assert toolchains._start(zig) == (*module_argv("ziglang"), "cc")
    (tmp_path / "zig").touch()
    assert toolchains._start(zig) == (str(tmp_path / "zig"), "cc")
    monkeypatch.setattr(toolchains, "find_spec", lambda name: None)
    assert toolchains._start(zig) is None


def test_gcc_is_not_asked_for_what_its_header_lacks() -> None:
    target = load_board("qemu-riscv32-vectors").target
    assert [name for name, _ in compilers_of(target)] == ["zig"]
    with pytest.raises(ToolError, match="known for rv32imac-zve32x: zig"):
        find_toolchain(target, "riscv64-unknown-elf-gcc")
