"""Chooses a board's runner: the one asked for, or the board's first that this machine has."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Protocol, cast

from aot.errors import BoardError, MissingToolError, ToolError, did_you_mean
from boards.board_keys import Section
from platforms.runners import EMULATORS, FLASHERS, RUNNERS
from platforms.transport.base import Transport

if TYPE_CHECKING:
    from boards.board import Board

Argv = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoardSelector:
    """Selects one of several equal boards; when empty, the only board that is connected."""

    serial: str | None = None  # the serial number on the USB of the board, or of its debug probe
    port: str | None = None  # the line's name, as platforms.transport.named takes it


ANY_BOARD = BoardSelector()
ATTACH = "attach"  # no runner: nothing is started or written
_ENOUGH = ": one of these is enough"


class Runner(Protocol):
    """The things that every module in the tables has."""

    SECTION: Section  # its keys of a board's file

    def missing(self) -> str:
        """The thing that this machine lacks for it and how to get it; "" when nothing is lacking."""


class Emulator(Runner, Protocol):
    def argv(self, elf: Path, board: Board) -> Argv:
        """The command line that runs it, its serial port on stdin and stdout."""

    def open_line(self, elf: Path, board: Board) -> Transport:
        """Starts the firmware and connects to its serial port."""


class Flasher(Runner, Protocol):
    def flash_commands(self, elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
        """The commands that write the program to the board and start it. Looks for connected boards."""


def runner_named(name: str) -> Runner:
    return cast(Runner, import_module(RUNNERS[name]))


def emulator_named(name: str) -> Emulator:
    return cast(Emulator, import_module(EMULATORS[name]))


def flash_commands(
    name: str, elf: Path, board: Board, selector: BoardSelector = ANY_BOARD
) -> tuple[Argv, ...]:
    """The flasher's commands; none for an emulator, which loads the program when it starts."""
    if name in EMULATORS:
        return ()
    return cast(Flasher, import_module(FLASHERS[name])).flash_commands(elf, board, selector)


def choose_runner(board: Board, wanted: str | None = None, platform: str | None = None) -> str:
    """The name of the wanted runner, or of the first in the board's file that misses nothing here.

    With a platform, runners that write only another one's firmware are left out.
    """
    if wanted is not None and wanted not in board.runners:
        raise BoardError(
            f'board "{board.name}" has no runner "{wanted}"{did_you_mean(wanted, board.runners)}',
            hint=f"runners of {board.name}: {', '.join(board.runners)}",
        )
    if not board.runners:
        raise BoardError(
            f"{board.name} names no runner: nothing here runs firmware on it",
            hint="a table [runners] in its file, or --emulated where a command has it",
        )
    taking = _that_take(board, platform)
    names = [name for name in taking if wanted in (None, name)]
    if not names:
        refused = wanted or ", ".join(board.runners)
        raise BoardError(
            f"firmware of the platform {platform} is not taken by {refused}",
            board.name,
            f"runners that take it: {', '.join(taking) or 'none; deploy docs adding-a-board has them all'}",
        )
    lacks = {name: runner_named(name).missing() for name in names}
    usable = next((name for name in names if not lacks[name]), None)
    if usable is None:
        raise MissingToolError(
            f"nothing on this machine can run firmware for {board.name}{_ENOUGH if len(names) > 1 else ''}",
            "\n".join(f"{name}: {lacks[name]}" for name in names),
        )
    return usable


def reaches_memory(board: Board) -> bool:
    """True where one of its runners writes memory past the line."""
    return any(runner_named(name).SECTION.reaches_memory for name in board.runners)


def _that_take(board: Board, platform: str | None) -> list[str]:
    """The board's runners that take firmware of that platform."""
    writes = {name: runner_named(name).SECTION.writes for name in board.runners}
    return [name for name, only in writes.items() if platform is None or only in ("", platform)]


def choose_dry(board: Board, wanted: str | None = None, platform: str | None = None) -> str:
    """Chooses as choose_runner does, but takes a runner that cannot run here: nothing is run."""
    try:
        return choose_runner(board, wanted, platform)
    except ToolError:
        return wanted or _that_take(board, platform)[0]


def open_line(
    elf: Path,
    board: Board,
    wanted: str | None = None,
    selector: BoardSelector = ANY_BOARD,
    platform: str | None = None,
) -> Transport:
    """Starts the firmware on the chosen runner, or writes it to the board and opens its serial port.

    Firmware that runs already is only connected to: with the runner "attach", and at the port of an emulator:
    one that is started here has its line in itself.
    """
    from platforms.transport.ports import APPEARS_S, open_port_of

    if _runs_already(board, wanted, selector):
        return open_port_of(board, selector.serial, selector.port)
    name = choose_runner(board, wanted, platform)
    if name in EMULATORS:
        return emulator_named(name).open_line(elf, board)
    elf = elf.resolve()
    run_all(flash_commands(name, elf, board, selector), elf.parent)
    return open_port_of(board, selector.serial, selector.port, APPEARS_S)


def _runs_already(board: Board, wanted: str | None, selector: BoardSelector) -> bool:
    names = [wanted] if wanted else board.runners
    return wanted == ATTACH or (selector.port is not None and EMULATORS.keys() >= set(names))


def run_all(commands: Sequence[Argv], folder: Path) -> None:
    """Runs one command after the other. Their output goes to stderr, since stdout is for the result.

    They start in the firmware's folder, since pyOCD and OpenOCD run scripts of the current folder.
    """
    for argv in commands:
        done = subprocess.run(argv, cwd=folder, stdout=2, check=False)
        if done.returncode != 0:
            raise ToolError(
                f"{argv[0]} failed with exit status {done.returncode}",
                join(argv),
                "is the board connected and powered, and does no other program use it?",
            )
