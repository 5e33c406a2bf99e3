"""Runs a model in an emulator with the stack painted before, to hold a computed bound against it."""

from __future__ import annotations

from boards.board import Board
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.devices.session import open_device
from deploy.proving.machine.call_tree import CallTree, call_tree
from deploy.proving.machine.program import LinkedProgram
from platforms.runners import EMULATORS
from platforms.runners.runner import runner_named

_PAINTER, _CALLER = "solder_time_runs", "run"  # lays the paint; calls the model for the server
_EXCEPTION_BYTES = 108  # what a core stores when the deadline's timer interrupts it: with an FPU's registers


def painted_bytes(ready: Ready, emulator: str) -> int:
    """The stack that a run of the model, and what the server calls around it, painted over."""
    with open_device(ready, LineOptions(runner=emulator)) as device:
        device.session.time(device.model, 1, 1)
        return device.session.stats().stack_used_by_runs


def emulator_of(board: Board) -> tuple[str, str]:
    """The first emulator of the board that is there, or why there is none; never a probe, which writes."""
    names = [name for name in board.runners if name in EMULATORS]
    lacks = {name: runner_named(name).missing() for name in names}
    found = next((name for name in names if not lacks[name]), "")
    return found, "" if found else "; ".join(lacks.values()) or "no emulator runs the board"


def bytes_around_run(program: LinkedProgram, run: CallTree) -> int:
    """The stack between the paint and the run: the server's calls, and an exception of its timer."""
    paint, caller = (call_tree(program, name) for name in (_PAINTER, _CALLER))
    calls = paint.deepest[paint.entry] + caller.deepest[caller.entry] - run.deepest[run.entry]
    return calls + _EXCEPTION_BYTES
