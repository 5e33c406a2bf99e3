"""Compiles and links a project by calling the compiler, with two parallel jobs.

Users can also build with the project's Makefile. Both read the same src/ and flags/. Make is not used here
because it may be missing on a machine whose compiler was installed by pip.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from aot.errors import BuildError, FitError, ToolError
from platforms.toolchains import Toolchain, spelling_of

JOBS = 2
_MESSAGE_LINES = 12
_OVERFLOW = re.compile(
    r"region [`'](\w+)' overflowed by (\d+) bytes"  # GNU ld
    r"|section '[^']*' will not fit in region '(\w+)': overflowed by (\d+) bytes"  # ld.lld
)
_STACK = re.compile(r"board_stack_low = \.;\s*\. \+= (\d+);")

OnCommand = Callable[[Sequence[str]], None]


def keep_quiet(_argv: Sequence[str]) -> None:
    """Ignores the command."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of one build."""

    finish: tuple[tuple[str, ...], ...]  # run in sequence after compilation, for example the linker
    compile: tuple[tuple[str, ...], ...] = ()  # run first, in any order

    @property
    def all(self) -> tuple[tuple[str, ...], ...]:
        return (*self.compile, *self.finish)


def project_sources(directory: Path) -> tuple[str, ...]:
    """Returns the C files of a project, the same that the Makefile finds."""
    found = (*directory.glob("src/*.c"), *directory.glob("src/*/*.c"))
    return tuple(sorted(path.relative_to(directory).as_posix() for path in found))


def build_folder(profile: bool) -> str:
    return "build/profile" if profile else "build"


def object_of(source: str, profile: bool) -> str:
    return f"{build_folder(profile)}/{source.removeprefix('src/').removesuffix('.c')}.o"


def compile_argv(toolchain: Toolchain, source: str, profile: bool) -> tuple[str, ...]:
    """Returns the command that compiles one source file; run it in the project folder."""
    purpose = "model" if source.startswith("src/model/") else "rest"
    hook = ("-DSOLDER_LAYER_HOOK",) if profile else ()
    flags = (f"@flags/{spelling_of(toolchain.family)}/cpu", "@flags/compile", *hook, f"@flags/{purpose}")
    return (*toolchain.argv, *flags, "-c", source, "-o", object_of(source, profile))


def link_argv(toolchain: Toolchain, sources: Sequence[str], program: str, profile: bool) -> tuple[str, ...]:
    family = spelling_of(toolchain.family)
    objects = tuple(object_of(source, profile) for source in sources)
    output = f"{build_folder(profile)}/{program}"
    return (*toolchain.argv, f"@flags/{family}/cpu", *objects, f"@flags/{family}/link", "-o", output)


def build_commands(directory: Path, toolchain: Toolchain, program: str, profile: bool) -> Commands:
    """Returns the commands that build the project; run them in its folder."""
    sources = project_sources(directory)
    return Commands(
        compile=tuple(compile_argv(toolchain, source, profile) for source in sources),
        finish=(link_argv(toolchain, sources, program, profile),),
    )


def build_project(
    directory: Path, toolchain: Toolchain, program: str, profile: bool, on_command: OnCommand = keep_quiet
) -> Path:
    """Builds everything if anything has changed since the last build. Returns the program's path."""
    output = directory / build_folder(profile) / program
    commands = build_commands(directory, toolchain, program, profile)
    for argv in commands.compile:
        (directory / argv[-1]).parent.mkdir(parents=True, exist_ok=True)
    run_when_changed(output, directory, commands, toolchain, on_command)
    return output


def run_when_changed(
    output: Path, directory: Path, commands: Commands, toolchain: Toolchain, on_command: OnCommand
) -> None:
    """Runs the commands that create `output`, unless it exists and nothing has changed."""
    stamp = _Stamp(output.with_name(f"{output.name}.built"), _content(output, directory, toolchain))
    if output.is_file() and stamp.is_current():
        return
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(lambda argv: _run(argv, directory, on_command), commands.compile))
    for argv in commands.finish:
        _run(argv, directory, on_command)
    stamp.write()


class _Stamp:
    """A file next to a program that records what it was built from."""

    def __init__(self, path: Path, content: str) -> None:
        self._path, self._content = path, content

    def is_current(self) -> bool:
        return self._path.is_file() and self._path.read_text(encoding="utf-8") == self._content

    def write(self) -> None:
        self._path.write_text(self._content, encoding="utf-8")


def _content(output: Path, directory: Path, toolchain: Toolchain) -> str:
    """Returns a digest of everything that determines the program."""
    digest = hashlib.sha256(
        json.dumps([toolchain.argv, toolchain.version, str(output.relative_to(directory))]).encode()
    )
    for path in _inputs(directory):
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _inputs(directory: Path) -> Iterator[Path]:
    """Yields all files of the project except build results."""
    for entry in sorted(directory.iterdir()):
        if entry.is_dir() and entry.name != "build":
            yield from sorted(path for path in entry.rglob("*") if path.is_file())
        elif entry.is_file():
            yield entry


def _taken_by(directory: Path, argv: Sequence[str]) -> Iterator[str]:
    """Yields the memory needed by each part of the firmware, from object files and the reserved stack."""
    from platforms.elf import sizes  # loading elftools is slow, and few builds fail here

    taken: dict[str, tuple[int, int]] = {}
    for path in (directory / word for word in argv if word.endswith(".o")):
        part = "model" if path.parent.name == "model" else "arena" if path.stem == "models" else "server"
        flash, ram = taken.get(part, (0, 0))
        try:
            size = sizes(path)
        except ToolError:  # not an ELF file
            return
        taken[part] = flash + size.flash, ram + size.ram
    for part, (flash, ram) in sorted(taken.items()):
        yield f"{part}: {flash:,} bytes of flash, {ram:,} of RAM, including parts that the linker removes"
    script = directory / "board.ld"
    stack = _STACK.search(script.read_text(encoding="utf-8")) if script.is_file() else None
    if stack:
        yield f"stack: {int(stack[1]):,} bytes of RAM"


def _run(argv: Sequence[str], directory: Path, on_command: OnCommand) -> None:
    on_command(argv)
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    overflow = _OVERFLOW.search(done.stderr)
    if overflow:
        region, over = (group for group in overflow.groups() if group)
        raise FitError(
            f"the firmware does not fit: region {region} is {int(over):,} bytes too small",
            "\n".join((str(directory), *_taken_by(directory, argv))),
            "deploy boards list --fits MODEL   lists the boards with enough memory",
        )
    lines = done.stderr.strip().splitlines()
    raise BuildError(
        f"the compiler failed with exit status {done.returncode}",
        "\n".join((shlex.join(argv), f"in {directory}", *lines[:_MESSAGE_LINES])),
    )
