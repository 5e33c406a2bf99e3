"""What every platform can do: generate a project, build it, open a line to the firmware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from aot.errors import BoardError, did_you_mean
from boards.board import Board
from platforms import PLATFORMS
from platforms.build import Commands, OnCommand, build_commands, build_project, keep_quiet
from platforms.folder import write_project
from platforms.project import App, ProjectSource
from platforms.runners.runner import open_line
from platforms.toolchains import Toolchain, find_toolchain
from platforms.transport.base import Transport


@dataclass(frozen=True, slots=True)
class Firmware:
    """A built program and what it was built with."""

    elf: Path
    directory: Path  # of its project
    toolchain: Toolchain
    profile: bool  # whether the model reports its layers


class Platform(ABC):
    name: str
    program: str  # the built file's name

    @abstractmethod
    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        """The project's files, as path in the project -> text. Pure."""

    def generate(self, source: ProjectSource, directory: Path, board: Board, app: App) -> None:
        """Writes the project; the directory must be new or empty."""
        write_project(directory, self.files(source, board, app))

    def commands(
        self, directory: Path, board: Board, prefer: str | None = None, profile: bool = False
    ) -> Commands:
        """What build() would run."""
        return build_commands(directory, find_toolchain(board.target, prefer), self.program, profile)

    def build(
        self,
        directory: Path,
        board: Board,
        prefer: str | None = None,
        profile: bool = False,
        on_command: OnCommand = keep_quiet,
    ) -> Firmware:
        """Compiles and links the project there with the preferred compiler, or the first found."""
        toolchain = find_toolchain(board.target, prefer)
        elf = build_project(directory, toolchain, self.program, profile, on_command)
        return Firmware(elf, directory, toolchain, profile)

    def open_line(self, firmware: Firmware, board: Board, runner: str | None = None) -> Transport:
        """Starts the firmware on that runner, or the first usable one of the board, and connects to it."""
        return open_line(firmware.elf, board, runner)


def platform_of(board: Board, name: str | None = None) -> Platform:
    """The named platform, or the first that the board's file lists."""
    name = name or next(iter(board.platforms))
    if name not in board.platforms:
        raise BoardError(
            f'board "{board.name}" has no platform "{name}"{did_you_mean(name, board.platforms)}',
            hint=f"platforms of {board.name}: {', '.join(board.platforms)}",
        )
    platform: Platform = import_module(PLATFORMS[name]).PLATFORM
    return platform
