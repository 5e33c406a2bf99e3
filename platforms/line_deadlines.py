"""Timeouts of a line. A board answers at once; a program on this computer waits for CPU time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from platforms.rpc.deadlines import Deadlines

if TYPE_CHECKING:
    from boards.board import Board
    from platforms.transport.base import Transport

# If a program ends, its line closes. Silence therefore only means a busy computer, so wait longer.
PROGRAM_S = 60.0
RETRY_S = 4.0  # doubles with each retry
RUN_S = Deadlines().run_s
_DEVICE_SHARE = 0.8  # of a run's time limit on a board; the rest is for reporting the fault
_SLOWER = 4  # allowed slowdown of a program on a busy computer
INSTRUCTIONS_PER_S = 200_000_000  # a typical emulator


def deadlines_for(line: Transport, board: Board, run_s: float = RUN_S) -> Deadlines:
    """Returns the timeouts of this line if the user allows `run_s` seconds for one run."""
    if not line.is_program:
        return Deadlines(run_s=run_s, device_run_s=_DEVICE_SHARE * run_s, kept_run_s=run_s)
    kept_run_s = _SLOWER * run_s + PROGRAM_S
    return adapted(
        Deadlines(run_s=run_s, device_run_s=run_s * _board_seconds(board), kept_run_s=kept_run_s), line
    )


def adapted(deadlines: Deadlines, line: Transport) -> Deadlines:
    """Returns the timeouts, with longer waits and retries if the line leads to a program.

    Such a line loses nothing, and repeated requests would only load the busy computer further. They would
    also be answered late, while replies to the next request are expected.
    """
    if not line.is_program:
        return deadlines
    return replace(deadlines, hello_s=PROGRAM_S, answer_s=PROGRAM_S, retry_s=RETRY_S, retry_most_s=PROGRAM_S)


def _board_seconds(board: Board) -> float:
    """Returns emulated seconds per real-time second; more than 1 if the board's instructions are slow."""
    instruction_ns = board.counter.instruction_ns
    return 1.0 if instruction_ns is None else INSTRUCTIONS_PER_S * instruction_ns * 1e-9
