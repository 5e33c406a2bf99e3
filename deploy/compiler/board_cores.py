"""Rejects, before compiling, more cores than the board can use together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import BoardError
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from boards.board import Board


def require_cores(board: Board, options: CompileOptions) -> None:
    """Raises BoardError if --cores exceeds the number of cores that can work together."""
    says = why_not_its_cores(board, options)
    if says:
        from platforms.board_files import all_boards

        able = ", ".join(each.name for each in all_boards() if not why_one_core(each))
        raise BoardError(
            f"--cores 2: {board.name} has one core",
            says,
            f"use --cores 1, or a board with two: {able}",
        )


def why_not_its_cores(board: Board, options: CompileOptions) -> str:
    """Returns why the board lacks the requested cores, or "" if it has them or is a target."""
    return "" if options.cores == 1 or board.is_target else why_one_core(board)


def why_one_core(board: Board) -> str:
    """Returns why only one core of the board can compute models, or "" if two can."""
    if board.second_core is None:
        return f"its file lists one core, a {board.core.name}"
    return board.second_core.lacks(board.core.name, board.features)
