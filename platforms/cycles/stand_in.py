"""An emulated board in a real one's place: the same core, memory and clock, with a UART and a counter."""

from __future__ import annotations

from dataclasses import replace

from aot.errors import BoardError
from boards.board import Board, Counter, Uart

# Where Cortex-M cores have peripherals: no chip has memory there.
_UART, _COUNTER = 0x4000_4000, 0x4002_8018
EMULATED = "baremetal"  # the platform whose programs the emulator runs
_BAUD = 115_200
_INSTRUCTION_NS = 256
_HZ = 1_000_000_000 // _INSTRUCTION_NS  # each instruction is a tick


def is_recorded(board: Board) -> bool:
    """True where an emulator runs the board as it is, and records: unicorn, or QEMU for other cores."""
    return ("unicorn" if board.core.unicorn else "qemu") in board.runners


def stand_in(board: Board) -> Board:
    """The board itself where an emulator runs it. Raises BoardError for a core that unicorn does not know."""
    if is_recorded(board):
        return board
    if not board.core.unicorn:
        raise BoardError(
            f"{board.name} cannot be emulated: the unicorn package executes no {board.core.name}",
            hint="connect the board and leave out --emulated",
        )
    return replace(
        board,
        uart=Uart("cmsdk", _UART, board.clock_hz, _BAUD),
        own_counter=Counter("register", _HZ, 32, _COUNTER, _INSTRUCTION_NS),
        platforms={EMULATED: {}},
        runners={"unicorn": {}},
    )
