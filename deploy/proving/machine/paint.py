"""Measures stack usage by painting the stack in an emulator, to check the computed bound."""

from __future__ import annotations

from boards.board import Board
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.devices.session import open_device
from deploy.proving.machine.call_tree import CallTree, call_tree
from deploy.proving.machine.program import LinkedProgram
from platforms.runners import EMULATORS
from platforms.runners.runner import runner_named

_PAINTER, _CALLER = "solder_time_runs", "run"  # paints the stack; calls the model for the server
_EXCEPTION_BYTES = 108  # exception frame of the deadline timer, with FPU registers


def painted_bytes(ready: Ready, emulator: str) -> int:
    """Returns the stack bytes used by a run of the model and the server's calls around it."""
    with open_device(ready, LineOptions(runner=emulator)) as device:
        device.session.time(device.model, 1, 1)
        return device.session.stats().stack_used_by_runs


def emulator_of(board: Board) -> tuple[str, str]:
    """Returns the board's first installed emulator, or why there is none.

    Never a probe, which would flash.
    """
    names = [name for name in board.runners if name in EMULATORS]
    lacks = {name: runner_named(name).missing() for name in names}
    found = next((name for name in names if not lacks[name]), "")
    return found, "" if found else "; ".join(lacks.values()) or "no emulator runs the board"


def bytes_around_run(program: LinkedProgram, run: CallTree) -> int:
    """Returns the stack between the paint and the run: the server's calls, and a timer exception."""
    paint, caller = (call_tree(program, name) for name in (_PAINTER, _CALLER))
    calls = paint.deepest[paint.entry] + caller.deepest[caller.entry] - run.deepest[run.entry]
    return calls + _EXCEPTION_BYTES
