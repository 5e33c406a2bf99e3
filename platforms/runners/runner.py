"""Chooses what runs a board's firmware: the runner asked for, or the board's first that this machine has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from aot.errors import BoardError, ToolError, did_you_mean
from boards.board import Board
from platforms.runners import RUNNERS
from platforms.transport.base import Transport


class Runner(Protocol):
    """What a module of the table offers."""

    def missing(self) -> str:
        """What this machine lacks for it and how to get that; "" when nothing."""

    def flash_commands(self, elf: Path, board: Board) -> tuple[tuple[str, ...], ...]:
        """What puts the program on the board; nothing where it is loaded when it starts."""

    def argv(self, elf: Path, board: Board) -> tuple[str, ...]:
        """The command line that runs it, its serial port on stdin and stdout."""

    def open_line(self, elf: Path, board: Board) -> Transport:
        """Starts the firmware and connects to its serial port."""


def runner_named(name: str) -> Runner:
    return cast(Runner, import_module(RUNNERS[name]))


def choose_runner(board: Board, wanted: str | None = None) -> str:
    """The name of the wanted runner, or of the first in the board's file that misses nothing here."""
    if wanted is not None and wanted not in board.runners:
        raise BoardError(
            f'board "{board.name}" has no runner "{wanted}"{did_you_mean(wanted, board.runners)}',
            hint=f"runners of {board.name}: {', '.join(board.runners)}",
        )
    names = [wanted] if wanted else list(board.runners)
    lacks = {name: runner_named(name).missing() for name in names}
    usable = next((name for name in names if not lacks[name]), None)
    if usable is None:
        raise ToolError(
            f"nothing on this machine can run firmware for {board.name}",
            "\n".join(f"{name}: {lacks[name]}" for name in names),
            "one of them is enough" if len(names) > 1 else "",
        )
    return usable


def open_line(elf: Path, board: Board, wanted: str | None = None) -> Transport:
    """Starts the firmware on the chosen runner."""
    return runner_named(choose_runner(board, wanted)).open_line(elf, board)
