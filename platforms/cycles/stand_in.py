"""An emulated substitute for a physical board: same core, memory and clock, with a UART and a counter."""

from __future__ import annotations

from dataclasses import replace

from aot.errors import BoardError
from boards.board import Board, Counter, Uart
from platforms.board_files import load_board

# In the peripheral range of Cortex-M, which contains no memory.
_UART, _COUNTER = 0x4000_4000, 0x4002_8018
EMULATED = "baremetal"  # the platform of emulated programs
UNICORN = "unicorn"
_QEMU = ("qemu", "qemu-riscv32")  # runners that record cores which unicorn does not support
_BAUD = 115_200
_INSTRUCTION_NS = 256
_HZ = 1_000_000_000 // _INSTRUCTION_NS  # one tick per instruction


def recorder_of(board: Board) -> str:
    """Returns the recording runner that supports the board unchanged, or ""."""
    able = (UNICORN,) if board.core.unicorn else _QEMU
    return next((name for name in able if name in board.runners), "")


def stand_in(board: Board) -> Board:
    """Returns the board itself if an emulator supports it, else an emulated substitute.

    Raises BoardError if no emulator supports its core.
    """
    if recorder_of(board):
        return board
    if board.core.unicorn:
        return _in_unicorn(board)
    if board.core.stand_in:
        return _in_qemu(board, load_board(board.core.stand_in))
    raise BoardError(
        f"{board.name} cannot be emulated: neither unicorn nor QEMU supports a {board.core.name}",
        hint="connect the board and omit --emulated",
    )


def _in_unicorn(board: Board) -> Board:
    """Returns the board with its memory map, which unicorn can emulate at any address."""
    return replace(
        board,
        uart=Uart("cmsdk", _UART, board.clock_hz, _BAUD),
        own_counter=Counter("register", _HZ, 32, _COUNTER, _INSTRUCTION_NS),
        platforms={EMULATED: {}},
        runners={UNICORN: {}},
    )


def _in_qemu(board: Board, emulated: Board) -> Board:
    """Returns the board with the memory, UART and counter of a board in QEMU."""
    return replace(
        board,
        regions=emulated.regions,
        uart=emulated.uart,
        own_counter=emulated.own_counter,
        platforms={EMULATED: {}},
        runners=emulated.runners,
    )
