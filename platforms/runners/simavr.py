"""Runs AVR firmware in simavr, with the board's UART on stdin and stdout and exact cycle counts."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from boards.board_keys import Section
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

SOURCE = "simavr_machine.c"  # simavr's command prints the UART to a terminal instead of a line
LIBRARIES = ("-lsimavr", "-lelf")
COMPILERS = ("cc", "gcc", "clang")
HEADER_FOLDERS = ("/usr/include", "/usr/local/include", "/opt/homebrew/include")


SECTION = Section()


def missing() -> str:
    has_library = any(Path(folder, "simavr/sim_avr.h").is_file() for folder in HEADER_FOLDERS)
    if has_library and _compiler():
        return ""
    return "needs libsimavr and a C compiler (Debian: apt install libsimavr-dev libelf-dev gcc)"


def _compiler() -> str | None:
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def argv(elf: Path, board: Board) -> tuple[str, ...]:
    return (str(machine_beside(elf)), board.mcu.lower(), str(board.clock_hz), str(elf))


def machine_beside(elf: Path) -> Path:
    """Returns the path of the simulator program, which is built next to the firmware."""
    return elf.resolve().with_name("simavr_machine")


def open_line(elf: Path, board: Board) -> Transport:
    build_machine(machine_beside(elf))
    return PipeTransport(argv(elf, board))


def build_machine(program: Path) -> None:
    """Compiles the simulator program unless it exists."""
    if program.is_file():
        return
    with as_file(files("platforms.runners") / SOURCE) as source:
        command = (_compiler() or "cc", "-O2", str(source), "-o", str(program), *LIBRARIES)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError("the simulator of the AVR could not be built", done.stderr.strip()[:2000], missing())
