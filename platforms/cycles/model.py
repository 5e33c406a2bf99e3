"""The cycle model of a board, or the reason why there is none."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

from aot.distribution import pip_install
from boards.board import Board
from boards.cores import CorePipeline, CoreTiming
from platforms.cycles.flash_waits import Flash
from platforms.cycles.stand_in import EMULATED, recorder_of, stand_in
from platforms.runners.runner import runner_named

PACKAGE = "capstone"
_LEAST_VERSIONS = {"mve": (6, "Helium"), "riscv": (6, "RISC-V's extensions")}  # by feature, then architecture


def lacks(board: Board) -> str:
    """Returns why there is no cycle model for the board, or "" if there is one."""
    if board.core.timing is None and board.core.pipeline is None:
        return f"there is no table of instruction cycles for a {board.core.name}"
    if not (board.core.unicorn or board.core.stand_in or recorder_of(board)):
        return f"neither unicorn nor QEMU emulates a {board.name}"
    missing = runner_named(recorder_of(stand_in(board))).missing()
    if (missing and board.core.unicorn) or find_spec(PACKAGE) is None:
        return f"needs the Python packages unicorn and capstone ({pip_install('cycles')})"
    if missing:
        return missing
    known = {*board.target.features, board.core.machine}
    for what, (least, says) in _LEAST_VERSIONS.items():
        if what in known and int(version(PACKAGE).partition(".")[0]) < least:
            return f"needs capstone {least}, which knows {says} ({pip_install('cycles')})"
    return ""


def lacks_program(platform: str, board: Board) -> str:
    """Returns why the cycles of a platform's programs cannot be estimated on a board, or ""."""
    if recorder_of(board) and platform == EMULATED:
        return lacks(board)
    return lacks(board) or f"no emulator runs firmware of the platform {platform} for a {board.name}"


def core_of(board: Board) -> CoreTiming | CorePipeline:
    core = board.core.pipeline or board.core.timing
    assert core is not None  # checked by lacks()
    return core


def flash_of(board: Board) -> Flash | None:
    """Returns the board's flash at its clock, or None if it is unknown or has no wait states."""
    access, region = board.flash_access, board.region("flash")
    if access is None or not access.wait_states(board.clock_hz):
        return None
    return Flash(
        access, access.wait_states(board.clock_hz), range(region.origin, region.origin + region.bytes)
    )


def described(board: Board) -> str:
    """Returns a sentence about the model's facts and its known error."""
    flash = flash_of(board)
    if board.flash_access is None:
        memory = "flash with unknown wait states, assumed to be 0, so times are a lower bound"
    else:
        memory = f"flash of {flash.wait_states} wait states" if flash else "memory without wait states"
    error = flash.access.known_error if flash else core_of(board).known_error
    off = f"off by {error}" if error else "not compared with silicon"
    return f"a model of {board.core.name} at {board.clock_hz / 1e6:g} MHz and {memory}; {off}"
