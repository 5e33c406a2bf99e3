"""Selects the compilation target: a board by name, or a core and features as text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from aot.errors import BoardError, BoardFileError, InputError, UnknownBoardError, did_you_mean
from boards.cores import core_names
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from boards.board import Board


# Adds defaults from the board file to the user's accelerator options.


def options_on(board: Board, options: CompileOptions) -> CompileOptions:
    """Returns the options, with the board's defaults for requested accelerators without options."""
    words = tuple(_completed(word, board.accelerators) for word in options.accelerators)
    return options if words == options.accelerators else replace(options, accelerators=words)


def _completed(word: str, known: Mapping[str, Mapping[str, str]]) -> str:
    name, _, settings = word.partition(":")
    given = [setting for setting in settings.split(",") if setting]
    named = {setting.partition("=")[0] for setting in given}
    added = [f"{key}={value}" for key, value in known.get(name, {}).items() if key not in named]
    return f"{name}:{','.join([*given, *added])}" if added else word


# Rejects, before compiling, more cores than the board can use together.


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
        return _read_target(target)
    if board is None:
        return None
    from platforms.board_files import load_board

    try:
        name = os.fspath(board)
    except TypeError:
        raise InputError(
            f"a board is a name or a file, not {type(board).__name__}",
            hint='board="mps2-an386"; give an example of a model\'s input as example=...',
        ) from None
    return load_board(name)


def _read_target(text: str) -> Board:
    """Returns the target. An error about its core names the boards that the text resembles."""
    from boards.target_text import read_target

    try:
        return read_target(text)
    except BoardFileError as error:
        from platforms.board_files import boards_like

        word = re.split("[+,]", text)[0]
        meant = [] if did_you_mean(word, core_names()) else boards_like(word)
        if not meant:
            raise
        options = " or ".join(f"--board {name}" for name in meant)
        raise BoardFileError(
            error.what, error.where, f"a board is given by {options}\n{error.hint}"
        ) from None


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
