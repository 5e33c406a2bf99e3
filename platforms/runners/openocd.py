"""Writes firmware with OpenOCD, by the scripts that the board's file names."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from platforms.runners.runner import Argv, Where

PROGRAM = "openocd"


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs OpenOCD (Debian: apt install openocd)"


def flash_commands(elf: Path, board: Board, where: Where) -> tuple[Argv, ...]:
    scripts = tuple(word for script in board.runners["openocd"]["scripts"] for word in ("-f", script))
    probe = ("-c", f"adapter serial {where.serial}") if where.serial else ()
    # Braces: OpenOCD's commands are Tcl, where a path may hold blanks only inside them.
    return ((PROGRAM, *scripts, *probe, "-c", f"program {{{elf}}} verify reset exit"),)
