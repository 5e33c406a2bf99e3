"""The deadlines of a line: a board answers at once, a program of this computer when the computer is free."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from platforms.rpc.deadlines import Deadlines

if TYPE_CHECKING:
    from boards.board import Board
    from platforms.transport.base import Transport

# A program that ends closes its line, so silence only means that this computer is busy: wait longer.
PROGRAM_S = 60.0
RETRY_S = 4.0  # doubles each time
RUN_S = Deadlines().run_s
_DEVICE_SHARE = 0.8  # of the time that a run may take on a board: the rest is for the fault to come back
_SLOWER = 4  # than usual: so much may a program be while this computer is busy
INSTRUCTIONS_PER_S = 200_000_000  # that an emulator does, as a rule


def deadlines_for(line: Transport, board: Board, run_s: float = RUN_S) -> Deadlines:
    """The deadlines for this line, where the user allows `run_s` for one run."""
    if not line.is_program:
        return Deadlines(run_s=run_s, device_run_s=_DEVICE_SHARE * run_s, kept_run_s=run_s)
    kept_run_s = _SLOWER * run_s + PROGRAM_S
    return adapted(
        Deadlines(run_s=run_s, device_run_s=run_s * _board_seconds(board), kept_run_s=kept_run_s), line
    )


def adapted(deadlines: Deadlines, line: Transport) -> Deadlines:
    """The deadlines with longer waits for answers and repetitions where a program is at the line.

    Such a line loses nothing, and one that has no time yet would only have more to do: asked again and again,
    it would answer to the repetitions of one request while those of the next one come in.
    """
    if not line.is_program:
        return deadlines
    return replace(deadlines, hello_s=PROGRAM_S, answer_s=PROGRAM_S, retry_s=RETRY_S, retry_most_s=PROGRAM_S)


def _board_seconds(board: Board) -> float:
    """The seconds on an emulated board's clock per real second: many where its instructions are slow."""
    instruction_ns = board.counter.instruction_ns
    return 1.0 if instruction_ns is None else INSTRUCTIONS_PER_S * instruction_ns * 1e-9
