"""Starts firmware in an emulator that records what each run of the model executes."""

from __future__ import annotations

from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from platforms.base import Firmware
from platforms.elf import symbols
from platforms.runners import unicorn_runner
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

_ON_LAYER = "on_layer"  # of project_templates/common/solder_profile.c


def open_recorded(firmware: Firmware, board: Board, model: str, file: Path) -> Transport:
    """A line to the firmware. When it is closed, the last run of the model is written to the file."""
    address = {symbol.name: symbol.address & ~1 for symbol in symbols(firmware.elf)}
    run = f"{model}_run"
    if run not in address:
        raise ToolError(f"the firmware has no function {run}", str(firmware.elf))
    words = ["--record", str(file), f"--run={address[run]:#x}"]
    if firmware.profile:
        words.append(f"--on-layer={address[_ON_LAYER]:#x}")
    return PipeTransport((*unicorn_runner.argv(firmware.elf, board), *words))
