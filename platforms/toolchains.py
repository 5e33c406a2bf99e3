"""Finds the C compilers on this machine and knows which options make each compile for a core."""

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
_VERSION_TIMEOUT_S = 60  # the first start of a big wheel on a cold disk


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler that also links."""

    name: str  # "arm-none-eabi-gcc", "zig", "gcc", "clang"
    family: str  # whose spelling of the options it takes: "gcc", "clang" or "zig"
    argv: tuple[str, ...]  # how it is started
    version: str  # one line of its own

    def __str__(self) -> str:
        return f"{self.name}: {self.version}"


@dataclass(frozen=True, slots=True)
class _KnownCompiler:
    name: str
    family: str
    machine: str  # as boards.cores.MACHINES
    program: str  # "" is the ziglang package of this Python


# GCC for each machine that is another than this one, as distributions and makers call it.
GCC: Mapping[str, str] = {
    "arm": "arm-none-eabi-gcc",
    "riscv": "riscv64-unknown-elf-gcc",
    "avr": "avr-gcc",
}
# In order of preference for their machine: what the system has goes before what pip brings.
_CANDIDATES = (
    _KnownCompiler(GCC["arm"], "gcc", "arm", GCC["arm"]),
    _KnownCompiler("zig", "zig", "arm", ""),
    _KnownCompiler(GCC["riscv"], "gcc", "riscv", GCC["riscv"]),
    _KnownCompiler("zig", "zig", "riscv", ""),
    _KnownCompiler("gcc", "gcc", "host", "gcc"),
    _KnownCompiler("clang", "clang", "host", "clang"),
    _KnownCompiler("zig", "zig", "host", ""),
)
_WAY_OUT: Mapping[str, str] = {
    "arm": f"install gcc-arm-none-eabi and libnewlib-arm-none-eabi, or: {pip_install('zig')}",
    "riscv": f"install gcc-riscv64-unknown-elf and its picolibc, or: {pip_install('zig')}",
    "host": f"install gcc or clang, or: {pip_install('zig')}",
}


def find_toolchain(target: Target, prefer: str | None = None) -> Toolchain:
    """The compiler for a target: the preferred one, or the first found of the list."""
    kind, known = load_core(target.core).machine, _known_for(target)
    names = [c.name for c in known]
    if not names:
        raise ToolError(
            f"no C compiler for {target.core} is called directly",
            hint="the Arduino tools compile for it: a board with the platform arduino",
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
            _WAY_OUT[kind],
        )
    return found


def _known_for(target: Target) -> list[_KnownCompiler]:
    """The compilers of the core's kind whose options for it are known."""
    core = load_core(target.core)
    return [c for c in _CANDIDATES if c.machine == core.machine and spelling_of(c.family) in core.options]


def _preferred_by_environment(names: Iterable[str]) -> str | None:
    """The compiler that the environment names for everything; None where it does not serve this target."""
    wanted = os.environ.get(PREFER_VARIABLE, "")
    return wanted if wanted in names else None


def all_found() -> tuple[tuple[str, Toolchain | None], ...]:
    """Lists every compiler that would be used, as pairs of its purpose and what was found."""
    return tuple((f"{c.name} for {c.machine}", _look(c)) for c in _CANDIDATES)


def compilers_of(target: Target) -> tuple[tuple[str, Toolchain | None], ...]:
    """The compilers that are known for a target, in order of preference, and what was found of each."""
    return tuple((c.name, _look(c)) for c in _known_for(target))


@functools.cache
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
    beside = Path(package.origin).with_name("zig")  # started by itself: a Python for each file takes longer
    return (str(beside), "cc") if beside.is_file() else (*module_argv("ziglang"), "cc")


def _first_line(argv: tuple[str, ...]) -> str:
    """The first line that a program prints; "" when it does not start."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def cpu_flags(target: Target, family: str) -> tuple[str, ...]:
    """The options that make a compiler of that family compile for a core with exactly its features."""
    core, spelling = load_core(target.core), spelling_of(family)
    if spelling not in core.options:
        known = ", ".join(core.options) or "none"
        raise ToolError(
            f"no options of {spelling} are known for {core.name}",
            f"compilers that are known for it: {known}",
            f"boards/core/{core.name}.toml holds them",
        )
    return core.compiler_options(spelling, target.features)


def code_flags(target: Target) -> tuple[str, ...]:
    """Those of gcc's options for a core that make its code fast: the counts that are published need them."""
    core = load_core(target.core)
    options = core.compiler_options("gcc", target.features) if "gcc" in core.options else ()
    return tuple(option for option in options if option.startswith("-f"))


def cmake_flags(c_flags: Sequence[str], target: Target) -> str:
    """Options of a model's files for CMake, those that only gcc takes for gcc alone."""
    return " ".join((*c_flags, *(f"$<$<C_COMPILER_ID:GNU>:{option}>" for option in code_flags(target))))


def library_flags(target: Target, family: str) -> tuple[str, ...]:
    """The options by which a linker of that family finds its libraries, where those of the core find none."""
    return load_core(target.core).gcc_libraries if spelling_of(family) == "gcc" else ()


def spelling_of(family: str) -> str:
    """The family whose options a compiler takes: clang takes gcc's."""
    return "zig" if family == "zig" else "gcc"
