"""Builds firmware from a model file, an archive or a project folder, doing only the missing steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import BoardError, InputError
from aot.ir.tensor_spec import TensorSpec
from artifact.archive import is_archive, read_archive
from artifact.artifact import Artifact
from artifact.facts import ModelFacts
from artifact.report import make_report
from boards.board import Board
from boards.cores import core_names
from boards.files import find_file
from codegen.job import ImportedModel, import_model
from codegen.model import LayerInfo
from codegen.options import CompileOptions
from deploy.benchmark.meter import emulated_board
from deploy.cli.console import print_error, progress
from deploy.cli.options import require_no_options
from deploy.compiler.accelerator_errors import blamed_on_accelerators
from deploy.compiler.compile_model import Compiled, compile_for_firmware
from deploy.compiler.fit import require_core, require_fit
from deploy.compiler.several_sizes import together
from deploy.devices.build_cache import cached
from deploy.devices.buildable_boards import emulated_alike, platform_for, platform_here
from deploy.devices.project_archive import archives_of, require_archives
from platforms.base import BuildChoices, Firmware, Platform
from platforms.board_files import load_board
from platforms.folder import ProjectInfo, is_project, read_project
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.rpc.messages import Expected
from platforms.runners.runner import ATTACH


@dataclass(frozen=True, slots=True)
class Ready:
    """Firmware that can be started, and the model and build that it must report."""

    firmware: Firmware | None  # None: the user's own, already running on the board
    platform: Platform
    board: Board
    expected: Expected
    layers: tuple[LayerInfo, ...] = ()  # empty for a project folder

    @property
    def built(self) -> Firmware:
        """The firmware that was built here."""
        assert self.firmware is not None
        return self.firmware

    @property
    def model_name(self) -> str:
        return self.expected.model

    def asked_for(self, model: str | None) -> Ready:
        """Selects another model in the firmware, if one is named."""
        if model is None:
            return self
        return replace(self, expected=Expected(model, b"", self.expected.build_id))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model and its board, before firmware is built."""

    board: Board
    source: ProjectSource | Path  # to create a project from, or the project's folder
    artifact: Artifact | None = None  # None for a project folder, and after loading a cartridge
    compiled: Compiled | None = None  # None also for an archive
    model: str | None = None  # the model in the firmware to run; None: the first
    others: tuple[Artifact, ...] = ()  # further models in the same firmware, if their archives are known

    def for_model(self, name: str) -> Prepared:
        """Returns the same firmware for another of its models. Raises InputError if it is not one of them."""
        if self.artifact is None:
            return replace(self, model=name)
        others = (replace(self, artifact=each, compiled=None) for each in self.others)
        models = {each.facts.name: each for each in (*self.each_size, *others) if each.facts}
        if name not in models:
            raise InputError(f'the firmware has no model "{name}"', hint=f"its models: {', '.join(models)}")
        return replace(models[name], model=name)

    @property
    def keeps_state(self) -> bool:
        """Returns whether runs depend on earlier ones, as far as is known before the firmware is asked."""
        return self.artifact is not None and self.artifact.facts.keeps_state

    @property
    def each_size(self) -> tuple[Prepared, ...]:
        """The same firmware for each size of the model, the largest first."""
        if self.compiled is not None:
            parts = [(each.artifact, each) for each in (self.compiled, *self.compiled.others)]
            found = [replace(self, artifact=a, compiled=c, model=a.name) for a, c in parts]
        elif self.artifact is not None:
            artifacts = (self.artifact, *self.artifact.sizes)
            found = [replace(self, artifact=each, model=each.name) for each in artifacts]
        else:
            found = []
        return tuple(found) if len(found) > 1 else (self,)

    @property
    def facts(self) -> ModelFacts | None:
        """The model's facts; None if only the firmware knows them."""
        return self.artifact.facts if self.artifact else None

    @property
    def reference(self) -> ImportedModel:
        """The model as imported from its file, before any pass.

        For an archive, without the file's content.
        """
        if self.compiled is not None:
            return self.compiled.job.model
        assert self.artifact is not None
        facts = self.artifact.facts
        return ImportedModel(self.artifact.imported, facts.source_name, facts.model_hash, facts.name)

    @property
    def inputs(self) -> tuple[TensorSpec, ...] | None:
        return self.facts.inputs if self.facts else None

    @property
    def outputs(self) -> tuple[TensorSpec, ...] | None:
        return self.facts.outputs if self.facts else None

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        return self.facts.layers if self.facts else ()

    @property
    def front(self) -> str | None:
        return self.facts.options.front if self.facts else None

    @property
    def may_observe(self) -> bool:
        """False if the model was compiled without counters."""
        return self.facts is None or self.facts.options.observe


def prepare(
    path: Path,
    board_name: str | None,
    options: CompileOptions,
    compile_model: Callable[[ImportedModel, Board, CompileOptions], Compiled] = compile_for_firmware,
) -> Prepared:
    """Compiles a model file, or reads an archive or a project folder. Raises DeployError."""
    if not path.is_dir() and not is_archive(path):
        board = named_board(board_name, path)
        return prepare_compiled(compile_model(import_model(path, options), board, options))
    require_no_options(options, path)
    if path.is_dir():
        board, _ = project_board(path, board_name)
        return Prepared(board, path)
    board, artifact = named_board(board_name, path), read_archive(path)
    return Prepared(board, source_for(artifact, board), artifact)


def with_archive(prepared: Prepared) -> Prepared:
    """Returns a project with the archives that it was created from, if they are still there."""
    if not isinstance(prepared.source, Path):
        return prepared
    first, *others = archives_of(prepared.source) or (None,)
    return replace(prepared, artifact=first, others=tuple(filter(None, others)))


def on_emulator(
    prepared: Prepared, platform: str | None = None, clock_hz: int | None = None, has_cartridge: bool = False
) -> Prepared:
    """Returns the model for an emulated board with the same core.

    Raises InputError for a platform that is not emulated, and for a cartridge that the firmware cannot load.
    """
    board = emulated_board(prepared.board, clock_hz)
    require_emulated_platform(board, platform)
    moved = moved_to(prepared, board)
    if has_cartridge and isinstance(prepared.source, Path) and moved.source != prepared.source:
        raise InputError(
            f"the project's firmware for {board.name}, which has the slots, is not emulated",
            str(prepared.source),
            f"for an emulated one: deploy new ARCHIVE DIR --slots BYTES --board {emulated_alike(board)}",
        )
    return moved


def require_emulated_platform(board: Board, platform: str | None) -> None:
    """Raises InputError if the firmware of an emulated board is for another platform than requested."""
    if platform is not None and platform not in board.platforms:
        raise InputError(
            f"the emulated firmware for {board.name} is bare metal, not {platform}",
            hint="omit --platform to emulate the core, or --emulated to run on a connected board",
        )


def moved_to(prepared: Prepared, board: Board) -> Prepared:
    """Returns the model for another board with the same core.

    A project's firmware is for its own board alone, so firmware of its archive replaces it. Raises InputError
    if the archive is not there, or if the project's app is not the server.
    """
    folder = prepared.source
    if not isinstance(folder, Path) or board == prepared.board:
        return replace(prepared, board=board)
    project = read_project(folder)
    app = project.app
    if app is not App.RPC:
        raise InputError(
            f'this project has the app "{app.value}" for {prepared.board.name}, which is not emulated',
            str(folder),
            f"for an emulated one: deploy new ARCHIVE DIR --app {app.value} --board {emulated_alike(board)}",
        )
    artifact, *others = require_archives(folder)
    if project.platform not in board.platforms:
        print_error(
            "note: the emulated firmware is bare metal with the same model, "
            f"not the project's for {project.platform}"
        )
    source = share_firmware(source_for(artifact, board), [source_for(each, board) for each in others])
    return replace(prepared, board=board, source=source, artifact=artifact, others=tuple(others))


def prepare_compiled(compiled: Compiled) -> Prepared:
    return Prepared(compiled.board, project_source(compiled.artifact), compiled.artifact, compiled)


def named_board(name: str | None, path: Path) -> Board:
    """Returns the named board, or else that of the archive or project. Raises InputError, BoardError."""
    if name is None and not path.exists():
        raise InputError(
            "no model, archive or project has this path",
            str(path),
            "give a .tflite or .onnx file, an archive, or a project folder",
        )
    if name is None and is_archive(path):
        name = _board_of_archive(path)
    elif name is None and path.is_dir():
        return project_board(path)[0]
    if name is None:
        raise BoardError(
            "no board: model files and archives for a target name none",
            str(path),
            "add --board B; list boards with: deploy boards list",
        )
    return load_board(name)


def _board_of_archive(path: Path) -> str | None:
    """Returns the archive's board; None if it is for a target, whose facts name only the core."""
    name = read_archive(path).facts.board
    is_core = name in core_names() and find_file(name) is None
    return None if not name or is_core else name


def ready_for(prepared: Prepared, choices: BuildChoices, runner: str | None) -> Ready:
    """Returns firmware that contains the model: newly built, or the user's own, which is running."""
    source, board = prepared.source, prepared.board
    if runner != ATTACH or isinstance(source, Path):
        return build(prepared, choices).asked_for(prepared.model)
    expected = Expected(source.name, bytes.fromhex(source.model_hash))
    return Ready(None, platform_here(board), board, expected, prepared.layers).asked_for(prepared.model)


def build(prepared: Prepared, choices: BuildChoices) -> Ready:
    """Builds firmware with the RPC server."""
    if isinstance(prepared.source, Path):
        return replace(_build_project(prepared.source, prepared.board, choices), layers=prepared.layers)
    with blamed_on_accelerators(prepared.layers):
        return replace(build_source(prepared.source, prepared.board, choices), layers=prepared.layers)


def build_source(source: ProjectSource, board: Board, choices: BuildChoices, app: App = App.RPC) -> Ready:
    """Creates and builds a project in the cache, unless it is cached."""
    platform = _chosen_platform(board, choices)
    files = platform.files(source, board, app)

    def make(folder: Path) -> None:
        platform.generate(source, folder, board, app)
        build_project(platform, folder, board, choices)

    place = cached(f"{source.name}-{_key(files, platform, board, choices)}", make)
    firmware = build_project(platform, place, board, choices)
    return Ready(firmware, platform, board, _expected(read_project(place)))


def _key(files: Mapping[str, str], platform: Platform, board: Board, choices: BuildChoices) -> str:
    """Returns a hash of everything that determines the firmware."""
    toolchain = platform.toolchain(board, choices.toolchain)
    content = (sorted(files.items()), toolchain.argv, toolchain.version, choices.profile)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _build_project(directory: Path, board: Board, choices: BuildChoices) -> Ready:
    info = read_project(directory)
    if info.app is not App.RPC:
        raise InputError(
            f'the app "{info.app.value}" of this project answers no requests',
            str(directory),
            "create a project with deploy new --app rpc; deploy monitor shows the output of this one",
        )
    platform = _platform_of_project(directory, board, choices)
    firmware = build_project(platform, directory, board, choices)
    return Ready(firmware, platform, board, _expected(info))


def _platform_of_project(directory: Path, board: Board, choices: BuildChoices) -> Platform:
    """Returns a project's platform. Raises InputError if another one is asked for."""
    info = read_project(directory)
    if choices.platform not in (None, info.platform):
        raise InputError(
            f"the project is for platform {info.platform}, not {choices.platform}",
            str(directory),
            f"deploy new OUT.tar DIR --board {board.name} --platform {choices.platform} creates one for it",
        )
    return platform_for(board, info.platform)


def platform_used(prepared: Prepared, choices: BuildChoices) -> Platform:
    """Returns the platform that firmware_of() builds for."""
    if isinstance(prepared.source, Path):
        return _platform_of_project(prepared.source, prepared.board, choices)
    return _chosen_platform(prepared.board, choices)


def _chosen_platform(board: Board, choices: BuildChoices) -> Platform:
    return platform_for(board, choices.platform) if choices.platform else platform_here(board)


def firmware_of(prepared: Prepared, choices: BuildChoices) -> Firmware:
    """Builds the firmware of a project, whatever its app is, or firmware with the server for a model."""
    if not isinstance(prepared.source, Path):
        return build(prepared, choices).built
    platform = platform_used(prepared, choices)
    return build_project(platform, prepared.source, prepared.board, choices)


def _expected(info: ProjectInfo) -> Expected:
    return Expected(info.name, bytes.fromhex(info.model_hash), info.build_id)


def project_board(directory: Path, board_name: str | None = None) -> tuple[Board, Platform]:
    """Returns a project's board and platform. Raises BoardError if another board is named."""
    if not is_project(directory):
        raise InputError(
            "this folder is not a project",
            str(directory),
            "create one with: deploy new OUT.tar DIR --board B",
        )
    info = read_project(directory)
    board = load_board(board_name or info.board)
    if board.name != info.board:
        raise BoardError(
            f'the project is for board "{info.board}", not for "{board.name}"',
            str(directory),
            f"deploy new OUT.tar DIR --board {board.name} creates a project for it",
        )
    return board, platform_for(board, info.platform)


def build_project(platform: Platform, directory: Path, board: Board, choices: BuildChoices) -> Firmware:
    """Builds the firmware in the project's build folder."""
    commands = platform.commands(directory, board, choices)
    with progress(f"building with {platform.name}", len(commands.all)) as bar:
        return platform.build(directory, board, choices, lambda argv: bar.step(Path(argv[-1]).name))


def source_for(artifact: Artifact, board: Board) -> ProjectSource:
    """Extracts a project's part of the compiled model.

    Raises BoardError if it was compiled for another core, and FitError if the board's memory is too small.
    """
    require_core(artifact.facts, board)
    facts = together([artifact.facts, *(each.facts for each in artifact.sizes)])
    require_fit(make_report(facts, board.target, board.base_firmware), board)
    return project_source(artifact)
