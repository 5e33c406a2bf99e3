"""The subject of evidence: a compiled model, its board, and optionally a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aot.errors import InputError
from artifact.archive import is_archive
from artifact.artifact import Artifact
from boards.board import Board
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.cli.options import require_no_options
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.compiler.fit import require_core
from deploy.devices.buildable_boards import platform_for
from deploy.devices.firmware import source_for
from deploy.devices.project_archive import archive_name
from deploy.proving.rebuilding.strangers import (
    BUILD_FOLDER,
    ForeignFile,
    foreign_files_in_archive,
    foreign_files_in_project,
)
from deploy.python_api.model import Model, imported_with, read_artifact
from platforms.board_files import load_board
from platforms.folder import ProjectInfo, read_project


@dataclass(frozen=True)
class Project:
    """A project's folder, and the files that would be generated from the archive now."""

    info: ProjectInfo
    files: Mapping[str, str] = field(repr=False)  # path -> text
    is_built: bool  # has a folder of object files with unknown content


@dataclass(frozen=True)
class Subject:
    """Everything that chapters may use."""

    artifact: Artifact
    board: Board | None = None  # None: an archive, without a board
    compiled: Compiled | None = None  # for a model file or a compiled model; includes loops
    project: Project | None = None
    toolchain: str | None = None  # preferred compiler
    source: Path | None = None  # the model file; None: an archive, or a graph that is not in a file
    is_archive: bool = False  # the graph was compiled again, and the files compared
    foreign_files: tuple[
        ForeignFile, ...
    ] = ()  # files in archive and project that differ from generated ones

    @property
    def name(self) -> str:
        return self.artifact.name


@dataclass(frozen=True)
class About:
    """Options of `deploy evidence`, shared with its Python function."""

    board: Board | None = None
    project: Path | None = None
    toolchain: str | None = None


def subject_of(model: Path | Model | Compiled, asked: About, options: CompileOptions) -> Subject:
    """Reads an archive, or compiles a model file. Raises DeployError."""
    if isinstance(model, Path) and model.is_dir():
        raise InputError(
            "a project does not contain the graph of its C",
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
        foreign_files = tuple(foreign_files_in_archive(artifact, options))
        found = Subject(
            artifact, board, toolchain=asked.toolchain, is_archive=True, foreign_files=foreign_files
        )
        return _with_project(found, asked.project)
    source = model if isinstance(model, Path) else model.path if isinstance(model, Model) else None
    if not isinstance(model, Compiled):
        model = compile_for(imported_with(model, options), _named(board, model), options)
    _require_weights(model.artifact)
    found = Subject(model.artifact, model.board, model, toolchain=asked.toolchain, source=source)
    return _with_project(found, asked.project)


def _require_weights(artifact: Artifact) -> None:
    """Raises InputError if weights are replaceable, because proofs apply only to given weights."""
    if artifact.facts.structure:
        raise InputError(
            f"evidence is about code with its weights, and those of {artifact.name} are external",
            hint="compile the model without --weights external",
        )


def _require_compilable(artifact: Artifact, path: Path) -> None:
    """Raises InputError if an archive cannot be compiled again, so that its C cannot be verified."""
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
    source = replace(source_for(subject.artifact, board), archive=info.archive)
    files = platform_for(board, info.platform).files(source, board, info.app)
    foreign_files = (
        *subject.foreign_files,
        *foreign_files_in_project(directory, files, archive_name(subject.artifact)),
    )
    project = Project(info, files, (directory / BUILD_FOLDER).exists())
    return replace(subject, board=board, project=project, foreign_files=foreign_files)
