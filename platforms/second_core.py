"""The files of bare metal for a board's second core, by what starts it."""

from __future__ import annotations

from aot.errors import BoardError
from boards.board import Board
from platforms.templates import c_files, filled

_TEMPLATES, _BEGIN = "baremetal", "second_core_"


def starts() -> dict[str, str]:
    """The C text of each way to start a second core that there is, by its name."""
    files = {name: text for name, text in c_files(_TEMPLATES) if name.startswith(_BEGIN)}
    return {name.removeprefix(_BEGIN).removesuffix(".c"): text for name, text in files.items()}


def second_core_files(board: Board) -> dict[str, str]:
    """The C files of src/board. Raises BoardError where nothing here starts the second core."""
    second = board.second_core
    if second is None or second.start not in (known := starts()):
        raise BoardError(
            f"firmware for {board.name} starts one core, and the model was compiled for 2",
            hint="deploy compile --cores 1",
        )
    in_turn = board.counter.instruction_ns is not None
    return {
        "second_core.h": filled(_TEMPLATES, "second_core.h.jinja", board=board, in_turn=in_turn),
        "second_core.c": known[second.start],
    }
