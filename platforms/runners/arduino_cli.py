"""Writes a sketch with arduino-cli, which brings the programmer of each of its boards."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from platforms.runners.runner import Argv, Where
from platforms.transport.ports import find_port

PROGRAM = "arduino-cli"


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs arduino-cli (arduino.github.io/arduino-cli)"


def flash_commands(elf: Path, board: Board, where: Where) -> tuple[Argv, ...]:
    fqbn = board.platforms["arduino"]["fqbn"]
    port = find_port(board, where.serial, where.port)
    return ((PROGRAM, "upload", "--fqbn", fqbn, "--port", port, "--input-dir", str(elf.parent)),)
