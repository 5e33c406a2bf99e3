"""Writes firmware with pyOCD, through a CMSIS-DAP, ST-Link or J-Link probe."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from platforms.runners.runner import Argv, Where


def missing() -> str:
    return "" if shutil.which("pyocd") else "needs pyOCD (pip install 'solder[pyocd]')"


def flash_commands(elf: Path, board: Board, where: Where) -> tuple[Argv, ...]:
    """A target that is not built into pyOCD is in its maker's CMSIS pack, which pyOCD fetches once."""
    settings = board.runners["pyocd"]
    target = ("--target", str(settings["target"]))
    probe = ("--uid", where.serial) if where.serial else ()
    install = (("pyocd", "pack", "install", str(settings["target"])),) if settings.get("pack") else ()
    return (*install, ("pyocd", "flash", *target, *probe, "--format", "elf", str(elf)))
