"""Builds the firmware that chapters analyze: the model and the server, for the board or its substitute."""

from __future__ import annotations

from aot.distribution import pip_install
from aot.errors import BoardError, MissingToolError
from deploy.devices.firmware import Ready, build_source
from deploy.proving.subject import Subject
from platforms.base import BuildChoices
from platforms.cycles.stand_in import stand_in
from platforms.project import project_source


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
