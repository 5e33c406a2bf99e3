"""Starts firmware in an emulator that records the instructions of each model run."""

from __future__ import annotations

from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from platforms.base import Firmware
from platforms.cycles.stand_in import UNICORN, recorder_of
from platforms.cycles.trace import TracePoints
from platforms.elf import segments, symbols
from platforms.runners import unicorn_runner
from platforms.runners.qemu_recorder import RecordingLine
from platforms.runners.runner import emulator_named
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

_ON_LAYER = "on_layer"  # a function in project_templates/common/solder_profile.c


def open_recorded(firmware: Firmware, board: Board, run: str, file: Path) -> Transport:
    """Connects to the firmware. Closing the line writes the latest run of function `run` to `file`."""
    address = {symbol.name: symbol.address & ~1 for symbol in symbols(firmware.elf)}
    if run not in address:
        raise ToolError(f"the firmware has no function {run}", str(firmware.elf))
    on_layer = address[_ON_LAYER] if firmware.profile else None
    runner = recorder_of(board)
    if runner != UNICORN:
        region = board.region("flash")
        flash = range(region.origin, region.origin + region.bytes)
        where = TracePoints(address[run], on_layer, flash)
        argv = emulator_named(runner).argv(firmware.elf, board)
        return RecordingLine(argv, where, segments(firmware.elf), board.core.machine, file)
    words = ["--record", str(file), f"--run={address[run]:#x}"]
    if on_layer is not None:
        words.append(f"--on-layer={on_layer:#x}")
    return EmulatorThatWrites((*unicorn_runner.argv(firmware.elf, board), *words))


class EmulatorThatWrites(PipeTransport):
    """A line to an emulator that writes its recording after its input has ended, which may be slow."""

    end_of_input_s = 120.0
