"""Selects the compilation target: a board by name, or a core and features as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import InputError, UnknownBoardError
from boards.cores import core_names

if TYPE_CHECKING:
    from boards.board import Board

_MARKS = "+, "  # occur in targets but not in board names


def board_or_target(board: str | None, target: str | None) -> Board | None:
    """Returns the board, or a board with only the target's facts; None if neither is given.

    Raises BoardError for unknown names, and InputError if both are given.
    """
    if board is not None and target is not None:
        raise InputError(
            f'a board, "{board}", and a target, "{target}", exclude each other', hint="omit one of them"
        )
    if target is not None:
        from boards.target_text import read_target

        return read_target(target)
    if board is None:
        return None
    from platforms.board_files import load_board

    return load_board(board)


def require_board_or_target(board: str | None, target: str | None) -> Board:
    """Returns the board or target. Raises InputError if neither is given."""
    from boards.target_text import FORM

    found = board_or_target(board, target)
    if found is None:
        raise InputError("a board or a target is needed", hint=f'board="mps2-an386", or target="{FORM}"')
    return found


def board_or_target_of(word: str) -> Board:
    """Returns the board for an argument with a board's name or file, or a target, which starts with a core.

    Raises BoardError if it is neither.
    """
    from boards.target_text import read_target
    from platforms.board_files import load_board

    is_text = word.startswith("-") or any(mark in word for mark in _MARKS)
    if is_text and not word.endswith(".toml"):
        return read_target(word)
    try:
        return load_board(word)
    except UnknownBoardError:
        if word not in core_names():
            raise
        return read_target(word)
