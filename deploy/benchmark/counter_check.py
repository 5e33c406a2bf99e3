"""Detects whether the counter of an emulator started by the user counts instructions."""

from __future__ import annotations

from dataclasses import replace

from boards.board import Board
from deploy.benchmark.meter import Meter, is_emulated
from platforms.rpc.messages import RemoteModel
from platforms.rpc.session import Session

_CALLS = 20_000  # of an empty function: half a million instructions, a few milliseconds
_ROUNDS = 9  # with a clock, one round in twenty-five gives a whole number by chance
_INSTRUCTIONS_A_CALL = range(8, 200)  # the call, the return, and reading the counter
_OFF = 0.02  # tolerance in instructions, for interrupts of an operating system's timer


def counted_by(session: Session, model: RemoteModel, board: Board) -> Board:
    """Returns the board with the counter of this line: a clock if its ticks are not instructions.

    Equal calls need the same whole number of instructions in every round, but never exactly the same time.
    """
    if not is_emulated(board):
        return board
    meter = Meter(board)
    rounds = [meter.count(session.time_nothing(model, _CALLS)) / _CALLS for _ in range(_ROUNDS)]
    instructions = round(rounds[0])
    if instructions in _INSTRUCTIONS_A_CALL and all(abs(each - instructions) <= _OFF for each in rounds):
        return board
    return replace(board, own_counter=replace(board.counter, driver="clock", instruction_ns=None))


def counter_note(asked: Board, counted: Board) -> str:
    """Explains the replacement if the counter lacks what was requested, or returns ""."""
    if not Meter(counted).measures:
        return "no time is shown: the board's clock stands still while code runs"
    if counted is asked:
        return ""
    return (
        "no instructions are shown: the emulator was not started with "
        f"-icount shift={instruction_shift(asked)}, so its counter measures this computer's time"
    )


def instruction_shift(board: Board) -> int:
    """Returns the binary logarithm of an instruction's duration in nanoseconds."""
    assert board.counter.instruction_ns is not None
    return board.counter.instruction_ns.bit_length() - 1
