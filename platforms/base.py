"""The interface of all platforms: generate a project, build it, open a line to the firmware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from aot.errors import BoardError, did_you_mean
from boards.board import Board
from platforms import PLATFORMS
from platforms.build import (
    Commands,
    OnCommand,
    build_commands,
    build_folder,
    build_project,
    keep_quiet,
    run_when_changed,
)
from platforms.folder import write_project
from platforms.project import App, ProjectSource
from platforms.runners.runner import ANY_BOARD, BoardSelector, open_line
from platforms.toolchains import Toolchain, find_toolchain
from platforms.transport.base import Transport


@dataclass(frozen=True, slots=True)
class BuildChoices:
    """The user's choices for a build."""

    toolchain: str | None = None  # by name; None: the first that is found
    profile: bool = False  # whether the model reports its layers
    platform: str | None = None  # by name; None: the board's first that builds on this machine


AS_FOUND = BuildChoices()


@dataclass(frozen=True, slots=True)
class Firmware:
    """A built program and what it was built with."""

    elf: Path
    directory: Path  # of its project
    toolchain: Toolchain
    profile: bool  # whether the model reports its layers


class Platform(ABC):
    name: str

    @abstractmethod
    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        """The project's files, as path in the project -> text. Pure."""

    def generate(self, source: ProjectSource, directory: Path, board: Board, app: App) -> None:
        """Writes the project; the directory must be new or empty."""
        write_project(directory, self.files(source, board, app))

    @abstractmethod
    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        """The tool that builds for the board: the preferred one, or the first found. Raises ToolError."""

    @abstractmethod
    def program(self, directory: Path, profile: bool = False) -> Path:
        """The path at which build() puts the program of the project in that folder."""

    @abstractmethod
    def commands(self, directory: Path, board: Board, choices: BuildChoices = AS_FOUND) -> Commands:
        """The commands that build() would run in the project's folder."""

    def build(
        self,
        directory: Path,
        board: Board,
        choices: BuildChoices = AS_FOUND,
        on_command: OnCommand = keep_quiet,
    ) -> Firmware:
        """Makes the program of the project there, unless nothing has changed since it was made."""
        toolchain = self.toolchain(board, choices.toolchain)
        program = self.make(directory, board, toolchain, choices, on_command)
        firmware = Firmware(program, directory, toolchain, choices.profile)
        self.require_sound(firmware, board)
        return firmware

    @abstractmethod
    def make(
        self,
        directory: Path,
        board: Board,
        toolchain: Toolchain,
        choices: BuildChoices,
        on_command: OnCommand,
    ) -> Path:
        """Runs the commands of a build and returns the program's path."""

    def require_sound(self, firmware: Firmware, board: Board) -> None:  # noqa: B027
        """Raises FitError for a program that cannot run there; most can."""

    def open_line(
        self, firmware: Firmware, board: Board, runner: str | None = None, selector: BoardSelector = ANY_BOARD
    ) -> Transport:
        """Starts the firmware on that runner, or the first usable one of the board, and connects to it."""
        return open_line(firmware.elf, board, runner, selector, self.name)


class CompilerPlatform(Platform):
    """A platform without a build system of its own: the compiler is called directly."""

    program_name: str

    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        return find_toolchain(board.target, prefer)

    def program(self, directory: Path, profile: bool = False) -> Path:
        return directory / build_folder(profile) / self.program_name

    def commands(self, directory: Path, board: Board, choices: BuildChoices = AS_FOUND) -> Commands:
        toolchain = self.toolchain(board, choices.toolchain)
        return build_commands(directory, toolchain, self.program_name, choices.profile)

    def make(
        self,
        directory: Path,
        board: Board,
        toolchain: Toolchain,
        choices: BuildChoices,
        on_command: OnCommand,
    ) -> Path:
        return build_project(directory, toolchain, self.program_name, choices.profile, on_command)


class ToolPlatform(Platform):
    """A platform that its makers' own tools build."""

    @abstractmethod
    def built(self, directory: Path, board: Board, profile: bool) -> Path:
        """The path at which the tools put the board's program."""

    def make(
        self,
        directory: Path,
        board: Board,
        toolchain: Toolchain,
        choices: BuildChoices,
        on_command: OnCommand,
    ) -> Path:
        output = self.built(directory, board, choices.profile)
        commands = self.commands(directory, board, choices)
        run_when_changed(output, directory, commands, toolchain, on_command)
        return output


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


def compiler_platform_of(board: Board) -> CompilerPlatform:
    """The first platform of the board whose firmware is compiled file by file, as tuning does."""
    known = [platform_of(board, name) for name in board.platforms if name in PLATFORMS]
    found = next((platform for platform in known if isinstance(platform, CompilerPlatform)), None)
    if found is None:
        raise BoardError(
            f"kernels cannot be tuned on {board.name}",
            f"platforms: {', '.join(board.platforms) or 'none'}",
            "tune on an emulated board with the same core: its records serve this board too",
        )
    return found
