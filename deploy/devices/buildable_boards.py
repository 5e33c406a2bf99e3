"""Finds the boards that this version can build firmware for; for many others, only data is available."""

from __future__ import annotations

from collections.abc import Iterator

from aot.errors import BoardError, DeployError
from boards.board import Board, BoardStatus
from boards.target_text import is_target
from platforms import PLATFORMS
from platforms.base import Platform, platform_of
from platforms.board_files import all_boards
from platforms.cycles import stand_in
from platforms.runners import RUNNERS

_EMULATED = BoardStatus.EMULATED_TESTED


def is_supported(board: Board) -> bool:
    """Returns whether this version can build and start firmware for the board."""
    return any(name in PLATFORMS for name in board.platforms) and set(board.runners) <= set(RUNNERS)


def platform_for(board: Board, name: str | None = None) -> Platform:
    """Returns the named platform of the board, or the first one that this version supports."""
    require_board(board)
    here = [known for known in board.platforms if known in PLATFORMS]
    if not here or (name in board.platforms and name not in here):
        raise BoardError(
            f"this version builds no firmware for {name or board.name}",
            f"{board.name}, platforms: {', '.join(board.platforms) or 'none'}",
            _exported(board),
        )
    return platform_of(board, name or here[0])


def _exported(board: Board) -> str:
    channel = "esp-idf" if board.mcu.upper().startswith("ESP32") else "cmake"
    return (
        f"deploy export MODEL {board.option} --as {channel} -o OUT.zip   makes a package for your project; "
        "deploy doctor lists the boards it builds for"
    )


def platform_here(board: Board) -> Platform:
    """Returns the board's first platform that this machine can build; if there is none, its first.

    In that case its toolchain() raises an error that names the missing tools.
    """
    first = platform_for(board)
    return next((each for each in _platforms(board) if not why_not_here(each, board)), first)


def passed_over(board: Board, chosen: Platform) -> dict[str, DeployError]:
    """Returns why this machine cannot build for the platforms up to the chosen one, by name."""
    names = [each.name for each in _platforms(board)]
    earlier = [each for each in _platforms(board) if names.index(each.name) <= names.index(chosen.name)]
    return {each.name: why for each in earlier if (why := why_not_here(each, board))}


def _platforms(board: Board) -> Iterator[Platform]:
    return (platform_of(board, name) for name in board.platforms if name in PLATFORMS)


def why_not_here(platform: Platform, board: Board) -> DeployError | None:
    """Returns the error of a platform that this machine cannot build for; its hint says how it can."""
    try:
        platform.toolchain(board)
    except DeployError as error:
        return error
    return None


def emulated_alike(board: Board) -> str:
    """Returns emulated boards that run the same code, as in "mps2-an386 or other"; "B" if there is none."""
    able = (each for each in all_boards() if each.status is _EMULATED and stand_in.EMULATED in each.platforms)
    alike = [each.name for each in able if (each.core, each.features) == (board.core, board.features)]
    return " or ".join(alike) or "B"


def require_board(board: Board) -> None:
    """Raises BoardError for a target without a board, which cannot run anything."""
    if is_target(board):
        alike = [each.name for each in all_boards() if each.core == board.core and each.status is _EMULATED]
        such = f", such as {alike[0]}, which is emulated and has a {board.core.name}" if alike else ""
        raise BoardError(
            f"{board.name} is a target without a board: models can be compiled for it, but not run",
            hint=f"to run a model, choose a board{such}; list them with: deploy boards list",
        )
