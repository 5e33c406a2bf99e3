"""An emulated board in a real one's place: the same core, memory and clock, with a UART and a counter."""

from __future__ import annotations

from dataclasses import replace

from aot.errors import BoardError
from boards.board import Board, Counter, Uart
from platforms.board_files import load_board

# Where Cortex-M cores have peripherals: no chip has memory there.
_UART, _COUNTER = 0x4000_4000, 0x4002_8018
EMULATED = "baremetal"  # the platform whose programs the emulator runs
UNICORN = "unicorn"
_QEMU = ("qemu", "qemu-riscv32")  # the runners that record what unicorn does not execute
_BAUD = 115_200
_INSTRUCTION_NS = 256
_HZ = 1_000_000_000 // _INSTRUCTION_NS  # each instruction is a tick


def recorder_of(board: Board) -> str:
    """The runner that runs the board as it is, and records; "" where there is none."""
    able = (UNICORN,) if board.core.unicorn else _QEMU
    return next((name for name in able if name in board.runners), "")


def stand_in(board: Board) -> Board:
    """The board itself where an emulator runs it. Raises BoardError for a core that none executes."""
    if recorder_of(board):
        return board
    if board.core.unicorn:
        return _in_unicorn(board)
    if board.core.stand_in:
        return _in_qemu(board, load_board(board.core.stand_in))
    raise BoardError(
        f"{board.name} cannot be emulated: neither unicorn nor QEMU executes the code of a {board.core.name}",
        hint="connect the board and leave out --emulated",
    )


def _in_unicorn(board: Board) -> Board:
    """The board with its own memory, which unicorn has wherever it is."""
    return replace(
        board,
        uart=Uart("cmsdk", _UART, board.clock_hz, _BAUD),
        own_counter=Counter("register", _HZ, 32, _COUNTER, _INSTRUCTION_NS),
        platforms={EMULATED: {}},
        runners={UNICORN: {}},
    )


def _in_qemu(board: Board, emulated: Board) -> Board:
    """The board with the memory, the UART and the counter of one that QEMU has."""
    return replace(
        board,
        regions=emulated.regions,
        uart=emulated.uart,
        own_counter=emulated.own_counter,
        platforms={EMULATED: {}},
        runners=emulated.runners,
    )
