"""Refuses, before anything is compiled, more cores than those of a board that work together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import BoardError
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from boards.board import Board


def require_cores(board: Board, options: CompileOptions) -> None:
    """Raises BoardError where --cores asks for more than work together on the board."""
    says = why_not_its_cores(board, options)
    if says:
        from platforms.board_files import all_boards

        able = ", ".join(each.name for each in all_boards() if not why_one_core(each))
        raise BoardError(
            f"--cores 2 asks for 2 cores that work together, and {board.name} has 1",
            says,
            f"--cores 1, or a board with both: {able}",
        )


def why_not_its_cores(board: Board, options: CompileOptions) -> str:
    """The reason why the board has not the cores that are asked for; empty where it has, or nobody knows."""
    return "" if options.cores == 1 or board.is_target else why_one_core(board)


def why_one_core(board: Board) -> str:
    """The reason why one core of the board computes models; empty where two do."""
    if board.second_core is None:
        return f"its {board.core.name} is its only core, as far as its file says"
    return board.second_core.lacks(board.core.name, board.features)
