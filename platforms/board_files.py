"""Finds boards by name, with the tables that platforms and runners define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from aot.errors import DeployError
from boards import load
from boards.board_keys import Section, Sections
from platforms import PLATFORMS
from platforms.runners import RUNNERS

if TYPE_CHECKING:
    from boards.board import Board


def load_board(name: str) -> Board:
    """Returns the board with this name, or the one described by this TOML file."""
    return load.load_board(name, SECTIONS)


def boards_like(name: str) -> list[str]:
    """Returns a few boards that the name may mean, the likeliest first."""
    return load.boards_like(name, SECTIONS)


def all_boards() -> tuple[Board, ...]:
    """Returns every board that load_board finds by name, sorted by name."""
    return load.all_boards(SECTIONS)


def broken_boards() -> tuple[DeployError, ...]:
    """Returns the errors of board files that all_boards skips."""
    return load.broken_boards(SECTIONS)


class _Declared(Mapping[str, Section]):
    """SECTION of each module in a table. A module is imported when its section is first used."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> Section:
        section: Section = import_module(self._modules[name]).SECTION
        return section

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


SECTIONS = Sections(platforms=_Declared(PLATFORMS), runners=_Declared(RUNNERS))
