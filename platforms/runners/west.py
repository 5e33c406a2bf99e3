"""Writes Zephyr's firmware with `west flash`, which knows the programmer of each board."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, text
from platforms.runners.runner import Argv, BoardSelector

# Options of Zephyr's runners for a probe's serial number.
SERIAL_OPTION = {
    "jlink": "--dev-id",
    "nrfjprog": "--dev-id",
    "nrfutil": "--dev-id",
    "pyocd": "--dev-id",
    "openocd": "--serial",
    "stm32cubeprogrammer": "--dev-id",
}


def _lacks(board: Board) -> list[str]:
    return [] if "zephyr" in board.platforms else ["a table [platforms.zephyr]"]


SECTION = Section({"runner": Key(text, "")}, _lacks, writes="zephyr")


def missing() -> str:
    if not shutil.which("west"):
        return "needs a Zephyr tree and west (pip install west)"
    has_tree = bool(os.environ.get("ZEPHYR_BASE"))
    return "" if has_tree else "needs the environment variable ZEPHYR_BASE: the path of the Zephyr tree"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    runner = board.runners["west"].get("runner")
    chosen = ("--runner", runner) if runner else ()
    option = SERIAL_OPTION.get(runner or "", "--dev-id")
    serial = (option, selector.serial) if selector.serial else ()
    return (("west", "flash", "--build-dir", str(elf.parent.parent), *chosen, *serial),)
