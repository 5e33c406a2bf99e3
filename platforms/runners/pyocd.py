"""Writes firmware with pyOCD through a CMSIS-DAP, ST-Link or J-Link probe."""

from __future__ import annotations

import shutil
from pathlib import Path

from aot.distribution import pip_install
from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, boolean, matching
from platforms.runners.runner import Argv, BoardSelector

SECTION = Section(
    {
        "target": Key(matching(r"[a-z0-9_.-]+", "a target of pyocd list --targets")),
        "pack": Key(boolean, False),  # the target is in a CMSIS pack that pyOCD downloads
    }
)


def missing() -> str:
    return "" if shutil.which("pyocd") else f"needs pyOCD ({pip_install('pyocd')})"


def flash_commands(elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
    """Returns commands that first install the CMSIS pack, for targets that are not built into pyOCD."""
    settings = board.runners["pyocd"]
    target = ("--target", str(settings["target"]))
    probe = ("--uid", selector.serial) if selector.serial else ()
    install = (("pyocd", "pack", "install", str(settings["target"])),) if settings.get("pack") else ()
    return (*install, ("pyocd", "flash", *target, *probe, "--format", "elf", str(elf)))
