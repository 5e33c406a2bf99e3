"""Finds out whether a counter counts instructions, where somebody else started the emulator behind a line."""

from __future__ import annotations

from dataclasses import replace

from boards.board import Board
from deploy.benchmark.meter import Meter, is_emulated
from platforms.rpc.messages import RemoteModel
from platforms.rpc.session import Session

_CALLS = 20_000  # of a function that does nothing: half a million instructions, some milliseconds
_ROUNDS = 9  # one round in twenty-five takes a whole number by chance where this computer's time is told
_INSTRUCTIONS_A_CALL = range(8, 200)  # the call, the return, and reading the counter between
_OFF = 0.02  # of an instruction: what the interrupts of a system's clock may add


def counted_by(session: Session, model: RemoteModel, board: Board) -> Board:
    """The board as it counts on this line: by a clock where its ticks are not instructions.

    Calls that are alike take the same whole number of instructions in every round; this computer's time
    does not stay on one.
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
    """Says what is shown where the board's counter does not count what was asked for; "" where it does."""
    if not Meter(counted).measures:
        return "no time is shown: the board's clock stands still while code runs"
    if counted is asked:
        return ""
    return (
        "no instructions are shown: the emulator was not started with "
        f"-icount shift={instruction_shift(asked)}, and its counter tells this computer's time"
    )


def instruction_shift(board: Board) -> int:
    """The power of two of nanoseconds that an instruction takes."""
    assert board.counter.instruction_ns is not None
    return board.counter.instruction_ns.bit_length() - 1
