"""Writes the flash of an Espressif chip with esptool, through its serial bootloader."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from platforms.runners.runner import Argv, Where
from platforms.transport.ports import find_port

PROGRAM = "esptool"


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs esptool (pip install esptool)"


def flash_commands(elf: Path, board: Board, where: Where) -> tuple[Argv, ...]:
    settings = board.runners["esptool"]
    port = find_port(board, where.serial, where.port)
    image = str(elf.with_suffix(".bin"))
    chip = ("--chip", settings["chip"], "--port", port, "--baud", str(settings["baud"]))
    return ((PROGRAM, *chip, "write-flash", f"{settings['offset']:#x}", image),)
