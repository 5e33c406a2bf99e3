"""deploy doctor: which compilers and emulators this machine has, and how to get what it lacks."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from aot.errors import ToolError
from boards.board import Board
from boards.load import all_boards
from codegen.version import VERSION
from deploy import options
from deploy.console import print_result, table
from deploy.reach import can_be_reached, platform_for
from platforms.arduino_tools import WAY_OUT, found_tools
from platforms.runners import RUNNERS
from platforms.runners.runner import choose_runner, runner_named
from platforms.toolchains import all_found
from platforms.zephyr_tools import find_west

_OTHERS = "For every other board of deploy boards, models can be compiled and inspected."
EXAMPLE = """
deploy doctor
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiler or runner, on this machine or missing."""

    kind: str  # "compiler", "builder" or "runner"
    name: str
    found: bool
    says: str  # its version, or how to get it


@dataclass(frozen=True, slots=True)
class Ability:
    """What this machine can do for one board."""

    board: str
    compiler: str | None  # that would be used; None: there is none
    runner: str | None
    lacks: tuple[str, ...]  # ways to get what is missing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    programs = (*_compilers(), *_runners())
    abilities = [_ability(board) for board in all_boards() if can_be_reached(board)]
    facts = {
        "solder": VERSION,
        "python": platform.python_version(),
        "programs": [asdict(program) for program in programs],
        "boards": [asdict(ability) for ability in abilities],
    }
    print_result(arguments.json, facts, _page(programs, abilities))


def _compilers() -> list[Program]:
    return (
        [
            Program("compiler", name, chain is not None, chain.version if chain else "not found")
            for name, chain in all_found()
        ]
        + [
            Program("builder", name, bool(version), version or f"not found: {WAY_OUT.splitlines()[0]}")
            for name, version in found_tools().items()
        ]
        + [_west()]
    )


def _west() -> Program:
    """Zephyr's builder, of use only with a tree."""
    try:
        return Program("builder", "west", True, find_west().version)
    except ToolError as error:
        return Program("builder", "west", False, f"{error.where or error.what}: {error.hint.splitlines()[0]}")


def _runners() -> list[Program]:
    lacks = {name: runner_named(name).missing() for name in RUNNERS}
    return [Program("runner", name, not lack, lack or "ready") for name, lack in lacks.items()]


def _ability(board: Board) -> Ability:
    compiler, no_compiler = _tried(lambda: platform_for(board).toolchain(board).name)
    runner, no_runner = _tried(lambda: choose_runner(board))
    return Ability(board.name, compiler, runner, tuple(filter(None, (no_compiler, no_runner))))


def _tried(find: Callable[[], str]) -> tuple[str | None, str]:
    """What was found, or how to get what is lacking."""
    try:
        return find(), ""
    except ToolError as error:
        return None, error.hint.partition("\n")[0] or error.where.replace("\n", ", ") or error.what


def _page(programs: Sequence[Program], abilities: Sequence[Ability]) -> str:
    head = f"Solder {VERSION} on Python {platform.python_version()}"
    found = [("ok" if p.found else "--", p.kind, p.name, p.says) for p in programs]
    ways = {way: n + 1 for n, way in enumerate(dict.fromkeys(way for a in abilities for way in a.lacks))}
    boards = [
        (
            "--" if a.lacks else "ok",
            a.board,
            a.compiler or "none",
            a.runner or "none",
            ", ".join(f"({ways[way]})" for way in a.lacks),
        )
        for a in abilities
    ]
    tables = (
        table(("", "what", "name", "found"), found),
        table(("", "board", "compiler", "runner", "lacks"), boards),
    )
    return "\n\n".join((head, *tables, *_notes(ways), _OTHERS))


def _notes(ways: Mapping[str, int]) -> list[str]:
    """What the boards lack, each once: most lack the same."""
    return ["\n".join(f"({number}) {way}" for way, number in ways.items())] if ways else []
