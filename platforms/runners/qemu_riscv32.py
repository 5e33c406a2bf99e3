"""Runs RISC-V firmware in QEMU; see qemu.py for Arm."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, text
from platforms.runners import qemu
from platforms.transport.base import Transport

PROGRAM = "qemu-system-riscv32"


SECTION = Section({"machine": Key(text), "cpu": Key(text, "")}, reaches_memory=True)


def missing() -> str:
    return "" if shutil.which(PROGRAM) else f"needs {PROGRAM} (Debian: apt install qemu-system-misc)"


def argv(elf: Path, board: Board) -> tuple[str, ...]:
    """Returns a command without a BIOS, so that the firmware runs first."""
    told = board.runners["qemu-riscv32"]
    cpu = ("-cpu", told["cpu"]) if told["cpu"] else ()
    return qemu.command(PROGRAM, told["machine"], elf, board, *cpu, "-bios", "none")


def open_line(elf: Path, board: Board) -> Transport:
    return qemu.QemuLine(argv(elf, board))
