"""Finds the boards that this version can build firmware for; of many others only the data is known."""

from __future__ import annotations

from aot.errors import BoardError
from boards.board import Board, BoardStatus
from boards.target_text import is_target
from platforms import PLATFORMS
from platforms.base import Platform, platform_of
from platforms.board_files import all_boards
from platforms.runners import RUNNERS

_EMULATED = BoardStatus.EMULATED_TESTED


def is_supported(board: Board) -> bool:
    """True where this version has a platform that builds for the board and a runner that starts it."""
    return any(name in PLATFORMS for name in board.platforms) and set(board.runners) <= set(RUNNERS)


def platform_for(board: Board, name: str | None = None) -> Platform:
    """The named platform of the board, or its first that this version has."""
    require_board(board)
    here = [known for known in board.platforms if known in PLATFORMS]
    if not here or (name in board.platforms and name not in here):
        raise BoardError(
            f"this version builds no firmware for {name or board.name}",
            f"{board.name}, platforms: {', '.join(board.platforms) or 'none'}",
            "every board can be compiled for and inspected; deploy doctor lists those it builds for",
        )
    return platform_of(board, name or here[0])


def require_board(board: Board) -> None:
    """Raises BoardError for a target without a board: nothing can run there."""
    if is_target(board):
        alike = [each.name for each in all_boards() if each.core == board.core and each.status is _EMULATED]
        such = f", such as {alike[0]}, which is emulated and has a {board.core.name}" if alike else ""
        raise BoardError(
            f"{board.name} is a target without a board: it is compiled for, and nothing runs there",
            hint=f"what is to run needs a board{such}; deploy boards list   names them all",
        )
