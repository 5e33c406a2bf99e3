"""Writes firmware with OpenOCD, using the scripts in the board file."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, texts
from platforms.runners.runner import Argv, BoardSelector

PROGRAM = "openocd"


SECTION = Section({"scripts": Key(texts)})


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs OpenOCD (Debian: apt install openocd)"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    scripts = tuple(word for script in board.runners["openocd"]["scripts"] for word in ("-f", script))
    probe = ("-c", f"adapter serial {selector.serial}") if selector.serial else ()
    # OpenOCD's commands are Tcl, in which paths with spaces need braces.
    return ((PROGRAM, *scripts, *probe, "-c", f"program {{{elf}}} verify reset exit"),)
