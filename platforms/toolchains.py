"""Finds the installed C compilers and their options for each core."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from aot.distribution import pip_install
from aot.errors import MissingToolError, ToolError, did_you_mean
from aot.target import Target
from aot.trust import module_argv
from boards.cores import load_core

PREFER_VARIABLE = "SOLDER_TOOLCHAIN"
_VERSION_TIMEOUT_S = 60  # the first start of a large wheel from a cold disk is slow


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler that can link."""

    name: str  # "arm-none-eabi-gcc", "zig", "gcc" or "clang"
    family: str  # option syntax: "gcc", "clang" or "zig"
    argv: tuple[str, ...]  # the command that starts it
    version: str  # one line

    def __str__(self) -> str:
        return f"{self.name}: {self.version}"


@dataclass(frozen=True, slots=True)
class _KnownCompiler:
    name: str
    family: str
    machine: str  # one of boards.cores.MACHINES
    program: str  # "": the ziglang package of this Python


# GCC's name for each cross-compilation target, in distributions and vendor toolchains.
GCC: Mapping[str, str] = {
    "arm": "arm-none-eabi-gcc",
    "riscv": "riscv64-unknown-elf-gcc",
    "avr": "avr-gcc",
}
# In order of preference: system compilers first, then pip packages.
_CANDIDATES = (
    _KnownCompiler(GCC["arm"], "gcc", "arm", GCC["arm"]),
    _KnownCompiler("zig", "zig", "arm", ""),
    _KnownCompiler(GCC["riscv"], "gcc", "riscv", GCC["riscv"]),
    _KnownCompiler("zig", "zig", "riscv", ""),
    _KnownCompiler("gcc", "gcc", "host", "gcc"),
    _KnownCompiler("clang", "clang", "host", "clang"),
    _KnownCompiler("zig", "zig", "host", ""),
)
_HINT: Mapping[str, str] = {
    "arm": f"install gcc-arm-none-eabi and libnewlib-arm-none-eabi, or: {pip_install('zig')}",
    "riscv": f"install gcc-riscv64-unknown-elf and its picolibc, or: {pip_install('zig')}",
    "host": f"install gcc or clang, or: {pip_install('zig')}",
}


def find_toolchain(target: Target, prefer: str | None = None) -> Toolchain:
    """Returns the preferred compiler for a target, or the first one found. Raises ToolError."""
    kind, known = load_core(target.core).machine, _known_for(target)
    names = [c.name for c in known]
    if not names:
        raise ToolError(
            f"no C compiler for {target.core} can be called directly",
            hint="use a board with the platform arduino, whose tools compile for it",
        )
    prefer = prefer or _preferred_by_environment(names)
    if prefer is not None and prefer not in names:
        raise ToolError(
            f'toolchain "{prefer}" is not known{did_you_mean(prefer, names)}',
            hint=f"known for {target.core}: {', '.join(names)}",
        )
    wanted = [c for c in known if prefer in (None, c.name)]
    found = next((chain for c in wanted if (chain := _look(c))), None)
    if found is None:
        raise MissingToolError(
            f"no C compiler for {target.core} was found",
            f"looked for {', '.join(c.name for c in wanted)}",
            _HINT[kind],
        )
    return found


def _known_for(target: Target) -> list[_KnownCompiler]:
    """Returns the compilers with known options for the target's core."""
    core = load_core(target.core)
    return [c for c in _CANDIDATES if c.machine == core.machine and spelling_of(c.family) in core.options]


def _preferred_by_environment(names: Iterable[str]) -> str | None:
    """Returns the compiler set in the environment, or None if it cannot build for this target."""
    wanted = os.environ.get(PREFER_VARIABLE, "")
    return wanted if wanted in names else None


def all_found() -> tuple[tuple[str, Toolchain | None], ...]:
    """Returns every usable compiler with its purpose; None if it was not found."""
    return tuple((f"{c.name} for {c.machine}", _look(c)) for c in _CANDIDATES)


def compilers_of(target: Target) -> tuple[tuple[str, Toolchain | None], ...]:
    """Returns the compilers for a target in order of preference; None if one was not found."""
    return tuple((c.name, _look(c)) for c in _known_for(target))


def _look(candidate: _KnownCompiler) -> Toolchain | None:
    argv = _start(candidate)
    if argv is None:
        return None
    version = _first_line((*argv[:-1], "version") if candidate.family == "zig" else (*argv, "--version"))
    return Toolchain(candidate.name, candidate.family, argv, version) if version else None


def _start(candidate: _KnownCompiler) -> tuple[str, ...] | None:
    if candidate.program:
        path = shutil.which(candidate.program)
        return (path,) if path else None
    package = find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    beside = Path(package.origin).with_name("zig")  # called directly: starting Python for each file is slow
    return (str(beside), "cc") if beside.is_file() else (*module_argv("ziglang"), "cc")


@functools.cache
def _first_line(argv: tuple[str, ...]) -> str:
    """Returns the first line that a program prints, or "" if it does not start."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def cpu_flags(target: Target, family: str) -> tuple[str, ...]:
    """Returns the options for a compiler family and a core with exactly these features."""
    core, spelling = load_core(target.core), spelling_of(family)
    if spelling not in core.options:
        known = ", ".join(core.options) or "none"
        raise ToolError(
            f"no {spelling} options are known for {core.name}",
            f"compilers with known options: {known}",
            f"add them to boards/core/{core.name}.toml",
        )
    return core.compiler_options(spelling, target.features)


def code_flags(target: Target) -> tuple[str, ...]:
    """Returns gcc's options for fast code on this core, on which the published measurements depend."""
    core = load_core(target.core)
    options = core.compiler_options("gcc", target.features) if "gcc" in core.options else ()
    return tuple(option for option in options if option.startswith("-f"))


def cmake_flags(c_flags: Sequence[str], target: Target) -> str:
    """Returns options for CMake: those that only gcc supports for gcc, the level for all builds but Debug."""
    flags = (f"$<$<NOT:$<CONFIG:Debug>>:{flag}>" if flag.startswith("-O") else flag for flag in c_flags)
    return " ".join((*flags, *(f"$<$<C_COMPILER_ID:GNU>:{option}>" for option in code_flags(target))))


def library_flags(target: Target, family: str) -> tuple[str, ...]:
    """Returns extra linker options, if the core's options alone do not find libraries."""
    return load_core(target.core).gcc_libraries if spelling_of(family) == "gcc" else ()


def spelling_of(family: str) -> str:
    """Returns the compiler family whose option syntax applies: clang uses that of gcc."""
    return "zig" if family == "zig" else "gcc"
