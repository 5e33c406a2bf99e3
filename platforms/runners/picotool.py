"""Writes firmware to an RP2040 or RP2350 with picotool, through its USB bootloader."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from platforms.runners.runner import Argv, BoardSelector

PROGRAM = "picotool"


SECTION = Section()


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs picotool (github.com/raspberrypi/picotool)"


def flash_commands(elf: Path, _board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    """Returns a command that asks running firmware to enter the bootloader (-f); otherwise press BOOTSEL."""
    board = ("--ser", selector.serial) if selector.serial else ()
    return ((PROGRAM, "load", *board, "-f", "-x", str(elf), "-t", "elf"),)
