"""Builds the firmware that chapters analyze: the model and the server, for the board or its substitute."""

from __future__ import annotations

from aot.distribution import pip_install
from aot.errors import BoardError, MissingToolError
from boards.board import Board
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready, build_source
from deploy.devices.session import open_device
from deploy.proving.machine.program import CallTree, LinkedProgram, call_tree
from deploy.proving.subject import Subject
from platforms.base import BuildChoices
from platforms.cycles.stand_in import stand_in
from platforms.project import project_source
from platforms.runners import EMULATORS
from platforms.runners.runner import runner_named


def obstacle_to_building(subject: Subject) -> str:
    """Returns why firmware cannot be built or analyzed, or ""."""
    if subject.board is None:
        return "no board, so nothing is linked: add --board"
    if subject.board.core.machine != "arm":
        return f"machine code of {subject.board.core.name} is not read: only that of Cortex-M is"
    try:
        stand_in(subject.board)
    except BoardError as error:
        return error.what
    return ""


def built(subject: Subject, profile: bool = False) -> Ready:
    """Returns the firmware. Raises MissingToolError without a compiler, DeployError if the build fails."""
    assert subject.board is not None  # checked by obstacle_to_building()
    choices = BuildChoices(subject.toolchain, profile)
    return build_source(project_source(subject.artifact), stand_in(subject.board), choices)


def require_capstone() -> None:
    """Raises MissingToolError if capstone is not installed."""
    from importlib.util import find_spec

    if find_spec("capstone") is None:
        raise MissingToolError(
            "the Python package capstone, which reads machine code, is not installed",
            hint=pip_install("cycles"),
        )


# Measures stack usage by painting the stack in an emulator, to check the computed bound.

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
