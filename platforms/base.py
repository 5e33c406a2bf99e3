"""The interface of all platforms: generate a project, build it, connect to the firmware."""

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
    """Build options chosen by the user."""

    toolchain: str | None = None  # by name; None: the first one found
    profile: bool = False  # report every layer at run time
    platform: str | None = None  # by name; None: the board's first one that builds on this machine


AS_FOUND = BuildChoices()


@dataclass(frozen=True, slots=True)
class Firmware:
    """A built program and how it was built."""

    elf: Path
    directory: Path  # the project folder
    toolchain: Toolchain
    profile: bool  # the model reports its layers


class Platform(ABC):
    name: str

    @abstractmethod
    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        """Returns the project's files as path -> text, without side effects."""

    def generate(self, source: ProjectSource, directory: Path, board: Board, app: App) -> None:
        """Writes the project into a new or empty folder."""
        write_project(directory, self.files(source, board, app))

    @abstractmethod
    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        """Returns the preferred build tool for the board, or the first one found. Raises ToolError."""

    @abstractmethod
    def program(self, directory: Path, profile: bool = False) -> Path:
        """Returns the path of the program that build() creates."""

    @abstractmethod
    def commands(self, directory: Path, board: Board, choices: BuildChoices = AS_FOUND) -> Commands:
        """Returns the commands that build() would run in the project folder."""

    def build(
        self,
        directory: Path,
        board: Board,
        choices: BuildChoices = AS_FOUND,
        on_command: OnCommand = keep_quiet,
    ) -> Firmware:
        """Builds the program, unless nothing has changed since the last build."""
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
        """Runs the build commands and returns the program's path."""

    def require_sound(self, firmware: Firmware, board: Board) -> None:  # noqa: B027
        """Raises FitError if the program cannot run on the board. By default does nothing."""

    def open_line(
        self, firmware: Firmware, board: Board, runner: str | None = None, selector: BoardSelector = ANY_BOARD
    ) -> Transport:
        """Starts the firmware on this runner, or the board's first usable one, and connects to it."""
        return open_line(firmware.elf, board, runner, selector, self.name)


class CompilerPlatform(Platform):
    """A platform without a build system: the compiler is called directly."""

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
    """A platform built with its vendor's tools."""

    @abstractmethod
    def built(self, directory: Path, board: Board, profile: bool) -> Path:
        """Returns the path at which the tools write the program."""

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
    """Returns the named platform, or the first one in the board file."""
    name = name or next(iter(board.platforms))
    if name not in board.platforms:
        raise BoardError(
            f'board "{board.name}" has no platform "{name}"{did_you_mean(name, board.platforms)}',
            hint=f"platforms of {board.name}: {', '.join(board.platforms)}",
        )
    platform: Platform = import_module(PLATFORMS[name]).PLATFORM
    return platform


def compiler_platform_of(board: Board, name: str | None = None) -> CompilerPlatform:
    """Returns the board's named or first platform that compiles firmware file by file, which tuning needs."""
    names = [known for known in board.platforms if known in PLATFORMS] if name is None else [name]
    known = [platform_of(board, each) for each in names]
    found = next((platform for platform in known if isinstance(platform, CompilerPlatform)), None)
    if found is None:
        raise BoardError(
            f"kernels cannot be tuned on {board.name}{f' with the platform {name}' if name else ''}",
            f"platforms: {', '.join(board.platforms) or 'none'}",
            "tune on an emulated board with the same core: its records apply to this board too",
        )
    return found
