"""Uploads a sketch with arduino-cli, which includes the programmers of its boards."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from platforms.runners.runner import Argv, BoardSelector
from platforms.transport.ports import find_port

PROGRAM = "arduino-cli"


def _lacks(board: Board) -> list[str]:
    return [] if "arduino" in board.platforms else ["a table [platforms.arduino]"]


SECTION = Section(lacks=_lacks, writes="arduino")


def missing() -> str:
    return "" if shutil.which(PROGRAM) else "needs arduino-cli (arduino.github.io/arduino-cli)"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    fqbn = board.platforms["arduino"]["fqbn"]
    port = find_port(board, selector.serial, selector.port)
    return ((PROGRAM, "upload", "--fqbn", fqbn, "--port", port, "--input-dir", str(elf.parent)),)
