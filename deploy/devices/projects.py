"""Project folders: created from archives, built to firmware, flashed to boards."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aot.errors import DeployError, InputError
from artifact.archive import is_archive, write_archive
from artifact.artifact import Artifact
from boards.board import Board
from codegen.job import import_model
from codegen.options import OPTIONS, CompileOptions
from deploy.cli.command_result import Answer
from deploy.cli.console import OnProgress, reports_progress
from deploy.cli.renamed import renamed
from deploy.compiler.compile_model import Compiled, compile_for_firmware
from deploy.devices.buildable_boards import passed_over, platform_for, platform_here, why_not_here
from deploy.devices.cartridge_slots import with_slots
from deploy.devices.chat_step import chat_model
from deploy.devices.firmware import (
    build_project,
    firmware_of,
    named_board,
    on_emulator,
    platform_used,
    project_board,
    source_for,
)
from deploy.devices.function_files import source_with
from deploy.devices.project_archive import archive_name
from deploy.python_api.board_arguments import line_arguments, prepared_of
from deploy.python_api.model import Model, model_path, read_artifact
from deploy.python_api.option_keywords import accepts_options
from deploy.sensors.sensor_apps import SensorChoices, with_pipeline
from platforms.base import BuildChoices, Firmware, Platform
from platforms.board_files import load_board
from platforms.cartridge.header import identity
from platforms.cartridge.in_firmware import MONOCYPHER, OWN_VERIFIER
from platforms.elf import ProgramSizes, sizes
from platforms.folder import read_project
from platforms.layout import build_id_of
from platforms.mlperf_tiny import benchmark_of
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.rpc.line_key import read_line_key
from platforms.runners.runner import choose_dry, choose_runner, emulator_named, flash_commands, run_all
from platforms.stack_depth import StackDepth, run_stack

_FIX = "install what is missing (deploy doctor --fix lists how), then "


@renamed(labels="class_names", archive="model")
@reports_progress
def new(
    model: str | Path | Compiled,
    directory: str | Path,
    board: str | None = None,
    platform: str | None = None,
    app: str = App.RPC.value,
    others: Sequence[str | Path | Compiled] = (),
    functions: Sequence[str | Path] = (),
    slots: int | None = None,
    arena: int | None = None,
    public_key: str | Path | None = None,
    class_names: str | None = None,
    rate: int | None = None,
    recording: str | Path | None = None,
    line_key: str | Path | None = None,
    kernels: Sequence[str | Path | Compiled] = (),
    product: str = "",
    model_version: int = 0,
    allow_downgrades: bool = False,
    verify: str | None = None,
    tokenizer: str | Path | None = None,
    *,
    on_progress: OnProgress | None = None,
) -> Answer:
    """Creates a project folder from a model file, an archive or a compiled model.

    It contains everything that its board and platform need. A model file is compiled with default options.
    `others` are more models for the same firmware. `board` may be omitted for a compiled model and for an
    archive that names one. Without `platform`, the board's first one that this machine can build is chosen.
    `functions` are C files whose functions can be called by name. `slots` reserves two cartridges of that
    many bytes, for models with an arena of at most `arena` bytes; with a public key they must be signed, and
    `verify` names the library that verifies signatures: libsodium, monocypher, psa, or own for a function to
    fill in. Cartridges must be for the same `product`, with a version of at least that of the running model
    unless `allow_downgrades`; `model_version` is that of the built-in model. If the model was compiled with
    `tables`, cartridges are tables that use its kernels and those of the models in `kernels`. With a line
    key, the server answers only clients that have it. Sensor apps need `class_names`, `rate` in rows per
    second if no front end has it, and optionally a `recording` to play instead of the sensor.
    The app chat needs the model's `tokenizer`: a tokenizer.json, or a tokenizer.model of
    SentencePiece. The app transcribe needs the texts of the model's labels there: a file with one
    per line, or a tokenizer.model.
    """
    place = _board_of(model, board)
    first, *more = (_artifact(each, place) for each in (model, *others))
    builder = platform_for(place, platform) if platform else platform_here(place)
    source = share_firmware(source_for(first, place), [source_for(other, place) for other in more])
    if app != App.RPC.value and (functions or slots or line_key):
        raise InputError(
            f"functions, cartridges and a line key need the server, which the app {app} does not have",
            hint="use --app rpc",
        )
    lenders = [source_for(read_artifact(each), place) for each in kernels]
    builtin = identity(product, model_version)
    with_functions = source_with(source, functions)
    source = with_slots(
        with_functions,
        slots,
        arena,
        public_key,
        lenders,
        builtin,
        allow_downgrades,
        verify,
        is_computer=builder.name == "host",
    )
    source = replace(source, line_key=read_line_key(Path(line_key)) if line_key else b"")
    choices = SensorChoices(
        class_names,
        rate,
        None if recording is None else Path(recording),
        Path(tokenizer) if tokenizer is not None and app == App.TRANSCRIBE.value else None,
    )
    source = with_pipeline(source, first, App(app), place, builder.name, choices)
    if app == App.MLPERF_TINY.value:
        benchmark_of(source, place, builder.name)
    if app == App.CHAT.value:
        source = replace(source, chat=chat_model(source, first, builder.name, tokenizer))
    elif tokenizer is not None and app != App.TRANSCRIBE.value:
        raise InputError(f"the app {app} has no tokenizer", str(tokenizer), "--app chat or transcribe")
    is_plain = build_id_of(source) == build_id_of(share_firmware(*_plain(first, more)))
    ways = [
        _way_to(given, artifact, is_plain, Path(directory))
        for given, artifact in zip((model, *others), (first, *more), strict=True)
    ]
    source = replace(source, archive=ways[0], other_archives=tuple(ways[1:]))
    builder.generate(source, Path(directory), place, App(app))
    for artifact, way in zip((first, *more), ways, strict=True):
        if way == archive_name(artifact):
            write_archive(artifact, Path(directory) / way)
    lacks = passed_over(place, builder)
    lacks = {name: why for name, why in lacks.items() if name == builder.name or not platform}
    facts = {
        "directory": str(directory),
        "model": first.name,
        "models": source.models,
        "board": place.name,
        "platform": builder.name,
        "app": app,
    }
    page = (
        f"{directory}: {', '.join(source.models)} for {place.name}, platform {builder.name}, app {app}\n"
        f"{_not_built_here(lacks)}{_way_to_build(place, builder, lacks.get(builder.name))}"
        f"  next: {_FIX if builder.name in lacks else ''}deploy build {shlex.quote(str(directory))}"
        f"{_to_fill_in(source)}"
    )
    return Answer(facts, page)


def _plain(first: Artifact, more: Sequence[Artifact]) -> tuple[ProjectSource, list[ProjectSource]]:
    return project_source(first), [project_source(each) for each in more]


def _way_to(model: str | Path | Compiled, artifact: Artifact, is_plain: bool, directory: Path) -> str:
    """Returns the path of a model's archive relative to the project; "" if archives lack some of its C."""
    if isinstance(model, Compiled) or not is_archive(model_path(model)):
        return archive_name(artifact) if is_plain else ""
    try:
        return Path(os.path.relpath(model_path(model).resolve(), directory.resolve())).as_posix()
    except ValueError:  # on another drive of Windows
        return model_path(model).resolve().as_posix()


def _not_built_here(lacks: Mapping[str, DeployError]) -> str:
    """Returns a line for each platform that this machine cannot build."""
    reasons = {name: ": ".join(filter(None, (why.what, why.where))) for name, why in lacks.items()}
    return "".join(f"  not built here: {name} ({why})\n" for name, why in reasons.items())


def _way_to_build(board: Board, builder: Platform, lack: DeployError | None) -> str:
    """Returns lines about what the chosen platform lacks here, and a platform that lacks nothing."""
    if lack is None:
        return ""
    tools = [f"  to build it here: {line}\n" for line in (lack.hint or "").splitlines()[:1]]
    other = platform_here(board)
    if other.name != builder.name and why_not_here(other, board) is None:
        tools.append(f"  built here: {other.name} (--platform {other.name}, or omit --platform)\n")
    return "".join(tools)


def _board_of(model: str | Path | Compiled, name: str | None) -> Board:
    if isinstance(model, Compiled):
        return load_board(name) if name else model.board
    return named_board(name, model_path(model))


def _artifact(model: str | Path | Compiled, board: Board) -> Artifact:
    """Returns the artifact of a compiled model or an archive, or compiles a model file for the board."""
    if isinstance(model, Compiled) or is_archive(model_path(model)):
        return read_artifact(model)
    options = CompileOptions()
    return compile_for_firmware(import_model(model_path(model), options), board, options).artifact


def _to_fill_in(source: ProjectSource) -> str:
    slots = source.cartridges
    if slots is None or not slots.public_key:
        return ""
    if slots.verifier == MONOCYPHER:
        return (
            "\n  signatures: first copy monocypher.c and .h, monocypher-ed25519.c and .h from "
            "https://monocypher.org into src"
        )
    if slots.verifier != OWN_VERIFIER:
        return ""
    return (
        "\n  signatures: you must write src/verify.c, which rejects every cartridge until then; "
        "--verify monocypher, libsodium or psa writes it for that library"
    )


@reports_progress
def build(
    directory: str | Path,
    toolchain: str | None = None,
    dry_run: bool = False,
    *,
    on_progress: OnProgress | None = None,
) -> Answer:
    """Builds firmware from a project with a compiler for its board. `dry_run` only returns the commands."""
    folder, choices = Path(directory), BuildChoices(toolchain)
    board, platform = project_board(folder)
    if dry_run:
        lines = [shlex.join(argv) for argv in platform.commands(folder, board, choices).all]
        place = shlex.quote(str(directory))
        return Answer({"folder": place, "commands": lines}, "\n".join([f"cd {place}", *lines]))
    firmware = build_project(platform, folder, board, choices)
    taken, stack = sizes(firmware.elf), _deepest(firmware, read_project(folder).models)
    return Answer(_built_facts(firmware, taken, stack), _built_page(firmware, taken, stack))


@accepts_options([*OPTIONS, "runner", "serial", "port"])
@renamed(directory="model")
@reports_progress
def flash(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    toolchain: str | None = None,
    dry_run: bool = False,
    platform: str | None = None,
    emulated: bool = False,
    *,
    on_progress: Any = None,  # OnProgress
    **options: Any,
) -> Answer:
    """Writes firmware to a board: that of a project, or firmware with the server for a model.

    Compiles and builds what is missing. `dry_run` returns the commands and builds no project. `emulated` is
    for a board that is not here; emulated boards load firmware at startup instead.
    """
    chosen = line_arguments(options)
    prepared = prepared_of(model, board, options)
    prepared = on_emulator(prepared, platform) if emulated else prepared
    choices, place = BuildChoices(toolchain, platform=platform), prepared.board
    builder = platform_used(prepared, choices)
    name = (choose_dry if dry_run else choose_runner)(place, chosen.runner, builder.name)
    if dry_run and isinstance(prepared.source, Path):
        elf = builder.program(prepared.source)
    else:
        elf = firmware_of(prepared, choices).elf
    commands = flash_commands(name, elf if dry_run else elf.resolve(), place, chosen.where)
    if not dry_run:
        run_all(commands, elf.resolve().parent)
    lines = [shlex.join(argv) for argv in commands]
    facts = {"firmware": str(elf), "runner": name, "commands": lines, "dry_run": dry_run}
    return Answer(facts, "\n".join(lines) or _loads_itself(name, elf, place))


def _loads_itself(emulator: str, elf: Path, board: Board) -> str:
    start = shlex.join(emulator_named(emulator).argv(elf, board))
    return f"nothing to write: {emulator} loads {elf} when it starts\n  {start}"


def _deepest(firmware: Firmware, models: Sequence[str]) -> StackDepth | None:
    """Returns the largest stack that a run of any model needs: they run one at a time on the same stack."""
    each = [depth for model in models if (depth := run_stack(firmware, model)) is not None]
    return max(each, key=lambda depth: depth.bytes, default=None)


def _built_facts(firmware: Firmware, taken: ProgramSizes, stack: StackDepth | None) -> dict[str, Any]:
    return {
        "firmware": str(firmware.elf),
        "toolchain": str(firmware.toolchain),
        "flash_bytes": taken.flash,
        "ram_bytes": taken.ram,
        "run_stack_bytes": stack.bytes if stack else None,
    }


def _built_page(firmware: Firmware, taken: ProgramSizes, stack: StackDepth | None) -> str:
    lines = [
        f"{firmware.elf}: {taken.flash:,} bytes of flash, {taken.ram:,} bytes of RAM",
        f"  compiled by {firmware.toolchain}",
    ]
    if stack:
        lines.append(f"  a run needs at most {stack.bytes:,} bytes of stack, in {' > '.join(stack.calls)}")
    return "\n".join(lines)
