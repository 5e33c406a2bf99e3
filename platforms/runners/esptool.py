"""Writes the flash of an Espressif chip with esptool, through its serial bootloader."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, at_least, text
from platforms.runners.runner import Argv, BoardSelector
from platforms.transport.ports import find_port

PROGRAM = "esptool"


SECTION = Section({"chip": Key(text), "baud": Key(at_least(1)), "offset": Key(at_least(0))})


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs esptool (pip install esptool)"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    settings = board.runners["esptool"]
    port = find_port(board, selector.serial, selector.port)
    image = str(elf.with_suffix(".bin"))
    chip = ("--chip", settings["chip"], "--port", port, "--baud", str(settings["baud"]))
    return ((PROGRAM, *chip, "write-flash", f"{settings['offset']:#x}", image),)
