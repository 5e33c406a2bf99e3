"""From what the user has, a model, an archive or a project, to built firmware: the missing steps are done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import BoardError, InputError
from boards.board import Board
from boards.load import load_board
from codegen.archive import Archive, read_archive
from codegen.archive_file import is_archive
from codegen.facts import ModelFacts, facts_of
from codegen.model import CompiledModel, CompileOptions
from deploy.cache import cached
from deploy.compiling import Compiled, compile_for
from deploy.console import progress
from deploy.fit import require_core
from deploy.reach import platform_for
from deploy.tensors import Slot, slot_of
from platforms.base import BuildChoices, Firmware, Platform
from platforms.folder import ProjectInfo, is_project, read_project
from platforms.project import App, ProjectSource, project_source, source_of
from platforms.rpc.messages import Expected


@dataclass(frozen=True, slots=True)
class Ready:
    """Firmware that only needs to be started, and what it must say of itself."""

    firmware: Firmware
    platform: Platform
    board: Board
    expected: Expected

    @property
    def model_name(self) -> str:
        return self.expected.model

    def asked_for(self, model: str | None) -> Ready:
        """The same firmware, and another of its models, if one is named."""
        if model is None:
            return self
        return replace(self, expected=Expected(model, b"", self.expected.build_id))


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that can be known before anything is built."""

    board: Board
    source: ProjectSource | Path  # to make a project of, or the project's folder
    inputs: tuple[Slot, ...] | None  # None: only the firmware knows


def prepare(path: Path, board_name: str | None, options: CompileOptions) -> Prepared:
    """A model file is compiled, an archive or a project folder is read; what is wrong with it is raised."""
    if not path.is_dir() and not is_archive(path):
        return prepare_compiled(compile_for(path, _named_board(board_name, path), options))
    if options != CompileOptions():
        raise InputError(
            "options of deploy compile are given, and this is compiled already",
            str(path),
            "leave them out here, or give the model file",
        )
    if path.is_dir():
        board, _ = project_board(path, board_name)
        return Prepared(board, path, None)
    board, archive = _named_board(board_name, path), read_archive(path)
    return Prepared(board, archive_source(archive, board), _slots(archive.facts))


def prepare_compiled(compiled: Compiled) -> Prepared:
    return Prepared(compiled.board, model_source(compiled.model), _slots(compiled.report.facts))


def _named_board(name: str | None, path: Path) -> Board:
    if name is None and not path.exists():
        raise InputError("there is no such model, archive or project", str(path))
    if name is None:
        raise BoardError("no board is named", str(path), "--board B; deploy boards lists them")
    return load_board(name)


def _slots(facts: ModelFacts) -> tuple[Slot, ...]:
    return tuple(slot_of(tensor.name, tensor.type) for tensor in facts.inputs)


def build(prepared: Prepared, choices: BuildChoices) -> Ready:
    """Firmware with the RPC server."""
    if isinstance(prepared.source, Path):
        return _build_project(prepared.source, prepared.board, choices)
    return build_source(prepared.source, prepared.board, choices)


def build_source(source: ProjectSource, board: Board, choices: BuildChoices, app: App = App.RPC) -> Ready:
    """A project of the source, built in the cache unless it is there."""
    platform = platform_for(board)
    files = platform.files(source, board, app)

    def make(folder: Path) -> None:
        platform.generate(source, folder, board, app)
        build_project(platform, folder, board, choices)

    place = cached(f"{source.name}-{_key(files, platform, board, choices)}", make)
    firmware = build_project(platform, place, board, choices)
    return Ready(firmware, platform, board, _expected(read_project(place)))


def _key(files: Mapping[str, str], platform: Platform, board: Board, choices: BuildChoices) -> str:
    """Names everything that decides what the firmware will be."""
    toolchain = platform.toolchain(board, choices.toolchain)
    content = (sorted(files.items()), toolchain.argv, toolchain.version, choices.profile)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _build_project(directory: Path, board: Board, choices: BuildChoices) -> Ready:
    info = read_project(directory)
    if info.app is not App.RPC:
        raise InputError(
            f'this project is of app "{info.app.value}", which answers no requests',
            str(directory),
            "deploy new --app rpc makes one that does; deploy monitor shows what this one prints",
        )
    platform = platform_for(board, info.platform)
    firmware = build_project(platform, directory, board, choices)
    return Ready(firmware, platform, board, _expected(info))


def _expected(info: ProjectInfo) -> Expected:
    return Expected(info.name, bytes.fromhex(info.model_hash), info.build_id)


def project_board(directory: Path, board_name: str | None = None) -> tuple[Board, Platform]:
    """The board a project is for. Another one may be named only if it is the same."""
    if not is_project(directory):
        raise InputError(
            "this folder holds no project", str(directory), "deploy new OUT.tar DIR --board B makes one"
        )
    info = read_project(directory)
    board = load_board(board_name or info.board)
    if board.name != info.board:
        raise BoardError(
            f'the project is for board "{info.board}", not for "{board.name}"',
            str(directory),
            f"deploy new OUT.tar DIR --board {board.name} makes a project for that one",
        )
    return board, platform_for(board, info.platform)


def build_project(platform: Platform, directory: Path, board: Board, choices: BuildChoices) -> Firmware:
    """Firmware in the project's own build folder."""
    commands = platform.commands(directory, board, choices)
    with progress("building", len(commands.all)) as bar:
        return platform.build(directory, board, choices, lambda argv: bar.step(Path(argv[-1]).name))


def model_source(model: CompiledModel) -> ProjectSource:
    return source_of(facts_of(model), model.sources)


def archive_source(archive: Archive, board: Board) -> ProjectSource:
    """Raises BoardError where the archive's code is for another core."""
    require_core(archive.facts, board)
    return project_source(archive)
