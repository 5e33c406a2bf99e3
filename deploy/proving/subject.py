"""The code that evidence is about: a compiled model, the board that it is for, a project made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aot.errors import InputError
from artifact.archive_file import is_archive
from artifact.artifact import Artifact
from boards.board import Board
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.cli.options import require_no_options
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.compiler.fit import require_core
from deploy.devices.buildable_boards import platform_for
from deploy.devices.firmware import source_for
from deploy.proving.rebuilding.strangers import (
    BUILD_FOLDER,
    Stranger,
    strangers_in_archive,
    strangers_in_project,
)
from deploy.python_api.model import Model, imported_with, read_artifact
from platforms.board_files import load_board
from platforms.folder import ProjectInfo, read_project


@dataclass(frozen=True)
class Project:
    """A project's folder, with its files as they are made of the archive now."""

    info: ProjectInfo
    files: Mapping[str, str] = field(repr=False)  # path -> text
    is_built: bool  # it has a folder of objects, of which nothing is known


@dataclass(frozen=True)
class Subject:
    """All that a chapter may look at."""

    artifact: Artifact
    board: Board | None = None  # None: an archive, and no board was named
    compiled: Compiled | None = None  # of a model file or a compiled model: with its loops
    project: Project | None = None
    toolchain: str | None = None  # the compiler that is preferred
    source: Path | None = None  # the model file; None: an archive, or a graph that no file holds
    is_archive: bool = False  # whose graph was compiled again, and its files compared
    strangers: tuple[Stranger, ...] = ()  # parts of archive and project that Solder does not make like that

    @property
    def name(self) -> str:
        return self.artifact.name


@dataclass(frozen=True)
class About:
    """The words after `deploy evidence`, which its Python function takes too."""

    board: Board | None = None
    project: Path | None = None
    toolchain: str | None = None


def subject_of(model: Path | Model | Compiled, asked: About, options: CompileOptions) -> Subject:
    """Reads an archive, or compiles a model file. Raises DeployError."""
    if isinstance(model, Path) and model.is_dir():
        raise InputError(
            "a project does not hold the graph that its C is made of",
            str(model),
            f"deploy evidence ARCHIVE --project {model}, with the archive that it was made of",
        )
    board = _board(asked)
    if isinstance(model, Path) and is_archive(model):
        require_no_options(replace(options, tuning_records=None, schedules=()), model)
        artifact = read_artifact(model)
        _require_weights(artifact)
        _require_compilable(artifact, model)
        if board is not None:
            require_core(artifact.facts, board)
        strangers = tuple(strangers_in_archive(artifact, options))
        found = Subject(artifact, board, toolchain=asked.toolchain, is_archive=True, strangers=strangers)
        return _with_project(found, asked.project)
    source = model if isinstance(model, Path) else model.path if isinstance(model, Model) else None
    if not isinstance(model, Compiled):
        model = compile_for(imported_with(model, options), _named(board, model), options)
    _require_weights(model.artifact)
    found = Subject(model.artifact, model.board, model, toolchain=asked.toolchain, source=source)
    return _with_project(found, asked.project)


def _require_weights(artifact: Artifact) -> None:
    """Raises InputError where weights may be replaced: what is proven of some is not of others."""
    if artifact.facts.structure:
        raise InputError(
            f"evidence is about code with its weights, and those of {artifact.name} are external",
            hint="compile the model without --weights external",
        )


def _require_compilable(artifact: Artifact, path: Path) -> None:
    """Raises InputError for an archive that cannot be compiled again, so that nothing holds its C."""
    if artifact.sizes:
        raise InputError(
            f"evidence is about a model of one size, and this archive has {len(artifact.sizes) + 1}",
            str(path),
            "compile each size by itself: --shape x=1,3,32,32",
        )
    if artifact.facts.tool_version != VERSION:
        raise InputError(
            f"the archive was written by Solder {artifact.facts.tool_version}, and this is {VERSION}: "
            "evidence compiles the archive again, and two versions make different C",
            str(path),
            f"pip install solder-mcu=={artifact.facts.tool_version}, or compile the model again",
        )


def _named(board: Board | None, model: Path | Model) -> Board:
    if board is None:
        where = str(model if isinstance(model, Path) else model.path)
        raise InputError("a model file is compiled for a board, and none is named", where, "--board B")
    return board


def _board(asked: About) -> Board | None:
    if asked.board is None and asked.project is not None:
        return load_board(read_project(asked.project).board)
    return asked.board


def _with_project(subject: Subject, directory: Path | None) -> Subject:
    if directory is None:
        return subject
    info = read_project(directory)
    if info.model_hash != subject.artifact.facts.model_hash:
        raise InputError(
            f"the project is made of another model: its file's SHA-256 is {info.model_hash}, "
            f"this one's {subject.artifact.facts.model_hash}",
            str(directory),
            "give the archive that the project was made of",
        )
    board = load_board(info.board)
    files = platform_for(board, info.platform).files(source_for(subject.artifact, board), board, info.app)
    strangers = *subject.strangers, *strangers_in_project(directory, files)
    project = Project(info, files, (directory / BUILD_FOLDER).exists())
    return replace(subject, board=board, project=project, strangers=strangers)
