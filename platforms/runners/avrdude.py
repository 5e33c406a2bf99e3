"""Writes an AVR's flash with avrdude, through an Arduino bootloader or a programmer."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, at_least, text
from platforms.runners.runner import Argv, BoardSelector
from platforms.transport.ports import find_port

PROGRAM = "avrdude"


SECTION = Section({"programmer": Key(text), "baud": Key(at_least(1))})


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs avrdude (Debian: apt install avrdude)"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    """Returns commands that do not erase the chip (-D): the bootloader cannot, it erases page by page."""
    settings = board.runners["avrdude"]
    port = find_port(board, selector.serial, selector.port)
    hex_file = elf.with_suffix(".hex")  # written by the Arduino tools next to the ELF file
    return (
        (
            *(PROGRAM, "-p", board.mcu.lower(), "-c", settings["programmer"], "-P", port),
            *("-b", str(settings["baud"]), "-D", "-U", f"flash:w:{hex_file}:i"),
        ),
    )
