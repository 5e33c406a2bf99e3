"""The cycle model of a board: its parts, or the reason why there is none."""

from __future__ import annotations

from importlib.util import find_spec

from boards.board import Board
from boards.core_timing import CoreTiming
from platforms.cycles.flash_waits import Flash
from platforms.cycles.stand_in import EMULATED
from platforms.runners import unicorn_runner

PACKAGE = "capstone"


def lacks(board: Board) -> str:
    """The reason why there is no model of that board's cycles here; "" where there is one."""
    if board.core.timing is None:
        return f"nothing is known of what instructions take on a {board.core.name}"
    if not board.core.unicorn:
        return f"the unicorn package does not emulate a {board.core.name}"
    if unicorn_runner.missing() or find_spec(PACKAGE) is None:
        return "needs the Python packages unicorn and capstone (pip install 'solder[cycles]')"
    return ""


def lacks_program(platform: str, board: Board) -> str:
    """Says why the cycles of that platform's programs are not told on a board; "" where they are."""
    if "unicorn" in board.runners and platform == EMULATED:
        return lacks(board)
    return lacks(board) or f"the unicorn package does not run what {platform} builds for a {board.name}"


def timing_of(board: Board) -> CoreTiming:
    assert board.core.timing is not None  # lacks() says so
    return board.core.timing


def flash_of(board: Board) -> Flash | None:
    """The board's flash at its clock; None where nothing is known about it, or it never waits."""
    access, region = board.flash_access, board.region("flash")
    if access is None or not access.wait_states(board.clock_hz):
        return None
    return Flash(
        access, access.wait_states(board.clock_hz), range(region.origin, region.origin + region.bytes)
    )


def described(board: Board) -> str:
    """Describes in a sentence what the model knows about the board, and its known error."""
    flash = flash_of(board)
    if board.flash_access is None:
        memory = "flash whose waits are not known: as if it never waited, so that times are a lower bound"
    else:
        memory = f"flash of {flash.wait_states} wait states" if flash else "memory that never waits"
    error = flash.access.known_error if flash else timing_of(board).known_error
    off = f"off by {error}" if error else "not held against silicon"
    return f"a model of {board.core.name} at {board.clock_hz / 1e6:g} MHz and {memory}; {off}"
