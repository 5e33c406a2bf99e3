"""Chooses a board's runner: the requested one, or the first one available on this machine."""

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
    """Selects one of several equal boards; if empty, the only connected one."""

    serial: str | None = None  # USB serial number of the board or its debug probe
    port: str | None = None  # name of the line; see platforms.transport.named


ANY_BOARD = BoardSelector()
ATTACH = "attach"  # connect only: start and write nothing
_ENOUGH = ". Install one of:"


class Runner(Protocol):
    """The common interface of all modules in the tables."""

    SECTION: Section  # its keys of a board file

    def missing(self) -> str:
        """Returns what is missing on this machine and how to install it, or ""."""


class Emulator(Runner, Protocol):
    def argv(self, elf: Path, board: Board) -> Argv:
        """Returns the command that runs the firmware with its serial port on stdin and stdout."""

    def open_line(self, elf: Path, board: Board) -> Transport:
        """Starts the firmware and connects to its serial port."""


class Flasher(Runner, Protocol):
    def flash_commands(self, elf: Path, board: Board, selector: BoardSelector) -> tuple[Argv, ...]:
        """Returns the commands that write and start the program. Searches for connected boards."""


def runner_named(name: str) -> Runner:
    return cast(Runner, import_module(RUNNERS[name]))


def emulator_named(name: str) -> Emulator:
    return cast(Emulator, import_module(EMULATORS[name]))


def flash_commands(
    name: str, elf: Path, board: Board, selector: BoardSelector = ANY_BOARD
) -> tuple[Argv, ...]:
    """Returns the flasher's commands; none for emulators, which load the program at startup."""
    if name in EMULATORS:
        return ()
    return cast(Flasher, import_module(FLASHERS[name])).flash_commands(elf, board, selector)


def choose_runner(board: Board, wanted: str | None = None, platform: str | None = None) -> str:
    """Returns the requested runner, or the first one in the board file that is available here.

    With a platform, runners for other platforms' firmware are skipped.
    """
    if wanted is not None and wanted not in board.runners:
        raise BoardError(
            f'board "{board.name}" has no runner "{wanted}"{did_you_mean(wanted, board.runners)}',
            hint=f"runners of {board.name}: {', '.join(board.runners)}",
        )
    if not board.runners:
        raise BoardError(
            f"{board.name} has no runner, so deploy cannot run firmware on it",
            hint="add a table [runners] to its file, or use --emulated if the command has it",
        )
    taking = _that_take(board, platform)
    names = [name for name in taking if wanted in (None, name)]
    if not names:
        refused = wanted or ", ".join(board.runners)
        raise BoardError(
            f"{refused} cannot run firmware of the platform {platform}",
            board.name,
            f"runners that can: {', '.join(taking) or 'none; all runners: deploy docs adding-a-board'}",
        )
    lacks = {name: runner_named(name).missing() for name in names}
    usable = next((name for name in names if not lacks[name]), None)
    if usable is None:
        raise MissingToolError(
            f"no program on this machine runs firmware for {board.name}{_ENOUGH if len(names) > 1 else ''}",
            "\n".join(f"{name}: {lacks[name]}" for name in names),
            _emulated_instead(board, names),
        )
    return usable


def _emulated_instead(board: Board, names: Sequence[str]) -> str:
    """Returns the hint for a user without the board, if its core can be emulated."""
    can_emulate = board.core.unicorn or board.core.stand_in
    if not can_emulate or not EMULATORS.keys().isdisjoint(names):
        return ""
    return "without the board: run, verify, bench, tune and monitor emulate its core with --emulated"


def reaches_memory(board: Board) -> bool:
    """Returns whether one of its runners can write memory directly."""
    return any(runner_named(name).SECTION.reaches_memory for name in board.runners)


def _that_take(board: Board, platform: str | None) -> list[str]:
    """Returns the board's runners that support firmware of that platform."""
    writes = {name: runner_named(name).SECTION.writes for name in board.runners}
    return [name for name, only in writes.items() if platform is None or only in ("", platform)]


def choose_dry(board: Board, wanted: str | None = None, platform: str | None = None) -> str:
    """Chooses like choose_runner, but may return an unavailable runner, for dry runs."""
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

    Only connects if the firmware already runs: with the runner "attach", or at the port of an emulator.
    Emulators started here include their line.
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
    """Runs commands in sequence with output to stderr, because stdout is for results.

    They start in the firmware's folder, because pyOCD and OpenOCD execute scripts in the current folder.
    """
    for argv in commands:
        done = subprocess.run(argv, cwd=folder, stdout=2, check=False)
        if done.returncode != 0:
            raise ToolError(
                f"{argv[0]} failed with exit status {done.returncode}",
                join(argv),
                "check that the board is connected and powered, and that no other program uses it",
            )
