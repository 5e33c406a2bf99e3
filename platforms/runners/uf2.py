"""Writes firmware by copying a UF2 file to the USB drive of a board's bootloader."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, at_least, text
from platforms.runners.runner import Argv, BoardSelector

INFO = "INFO_UF2.TXT"  # a file on every such drive, with a line Board-ID
PLACES = ("/media", "/run/media", "/Volumes")
DEPTH = 3  # for /run/media/USER/DRIVE


SECTION = Section(
    {
        "board_id": Key(text),  # in INFO_UF2.TXT
        "family": Key(at_least(0), 0),  # UF2 family id, for the platform that writes the file
    }
)


def missing() -> str:
    return ""


def flash_commands(elf: Path, board: Board, _selector: BoardSelector) -> tuple[Argv, ...]:
    """Returns a command that copies with this Python, which works on all systems."""
    wanted = board.runners["uf2"]["board_id"]
    drive = find_drive(wanted, drives())
    copy = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"
    return ((sys.executable, "-I", "-c", copy, str(elf.with_suffix(".uf2")), str(drive / "NEW.UF2")),)


def find_drive(board_id: str, found: Iterable[tuple[Path, str]]) -> Path:
    """Returns the drive of the bootloader with this board id."""
    found = tuple(found)
    for drive, said in found:
        if said == board_id or said.startswith(f"{board_id}-"):
            return drive
    raise ToolError(
        f"no bootloader drive of {board_id} is mounted",
        "\n".join(f"{drive}: {said}" for drive, said in found) or f"looked in {', '.join(PLACES)}",
        "start the bootloader: press reset twice, or hold BOOTSEL while connecting the board",
    )


def drives() -> Iterator[tuple[Path, str]]:
    """Yields each mounted drive of a UF2 bootloader and its Board-ID."""
    for place in PLACES:
        for depth in range(1, DEPTH):
            for info in sorted(Path(place).glob("/".join(["*"] * depth) + f"/{INFO}")):
                yield info.parent, board_id_of(info.read_text(encoding="utf-8", errors="replace"))


def board_id_of(info: str) -> str:
    lines = (line.partition(":") for line in info.splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == "Board-ID"), "")
