"""Bare-metal files for a board's second core, and detection of firmware that uses it."""

from __future__ import annotations

from pathlib import Path

from aot.errors import BoardError
from boards.board import Board
from platforms.templates import c_files, filled

COUNTED = (
    "no stack figure on two cores; instructions are those of each step's longer half and of the handover"
)
_ITS_STACK = "board_second_stack_low"  # symbol in board.ld
_TEMPLATES, _BEGIN = "baremetal", "second_core_"


def starts() -> dict[str, str]:
    """Returns the C text of each method to start a second core, by name."""
    files = {name: text for name, text in c_files(_TEMPLATES) if name.startswith(_BEGIN)}
    return {name.removeprefix(_BEGIN).removesuffix(".c"): text for name, text in files.items()}


def second_core_files(board: Board) -> dict[str, str]:
    """Returns the C files of src/board. Raises BoardError if starting the second core is not supported."""
    second = board.second_core
    if second is None or second.start not in (known := starts()):
        raise BoardError(
            f"firmware for {board.name} starts one core, but the model was compiled for 2",
            hint="compile again with --cores 1",
        )
    in_turn = board.counter.instruction_ns is not None
    return {
        "second_core.h": filled(_TEMPLATES, "second_core.h.jinja", board=board, in_turn=in_turn),
        "second_core.c": known[second.start],
    }


def uses_two_cores(elf: Path) -> bool:
    """Returns whether the firmware hands parts of layers to a second core."""
    from platforms.elf import symbols  # most commands need no ELF reader

    return any(symbol.name == _ITS_STACK for symbol in symbols(elf))
