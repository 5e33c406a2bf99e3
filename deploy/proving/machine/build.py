"""Builds the firmware that a chapter looks at: the model and the server on the board, or its stand-in."""

from __future__ import annotations

from aot.distribution import pip_install
from aot.errors import BoardError, MissingToolError
from deploy.devices.firmware import Ready, build_source
from deploy.proving.subject import Subject
from platforms.base import BuildChoices
from platforms.cycles.stand_in import stand_in
from platforms.project import project_source


def obstacle_to_building(subject: Subject) -> str:
    """Says why no firmware is built whose machine code is read; empty where one is."""
    if subject.board is None:
        return "no board is named, so nothing is linked: name it by --board"
    if subject.board.core.machine != "arm":
        return f"machine code of {subject.board.core.name} is not read: only that of Cortex-M is"
    try:
        stand_in(subject.board)
    except BoardError as error:
        return error.what
    return ""


def built(subject: Subject, profile: bool = False) -> Ready:
    """The firmware. Raises MissingToolError without a compiler, DeployError where it cannot be built."""
    assert subject.board is not None  # obstacle_to_building() says so
    choices = BuildChoices(subject.toolchain, profile)
    return build_source(project_source(subject.artifact), stand_in(subject.board), choices)


def require_capstone() -> None:
    """Raises MissingToolError."""
    from importlib.util import find_spec

    if find_spec("capstone") is None:
        raise MissingToolError(
            "the Python package capstone, which reads machine code, is not installed",
            hint=pip_install("cycles"),
        )
