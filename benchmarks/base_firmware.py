"""Measures what firmware takes before it has a model, by building it for all boards with a compiler."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import boards
from aot.errors import ToolError
from artifact.artifact import Artifact
from boards.base_firmware import TABLE
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy import demo
from deploy.compiler.compile_model import compile_for
from platforms import PLATFORMS
from platforms.baremetal import SERVER_STACK_BYTES
from platforms.base import CompilerPlatform, Firmware, platform_of
from platforms.board_files import all_boards
from platforms.elf import sizes
from platforms.project import App, ProjectSource, project_source

_MODEL = Path(demo.__file__).parent / "digits.tflite"  # that is taken off again
_ROUNDED_TO = 32  # bytes: alignment differs from model to model
_STACKS = {"baremetal": SERVER_STACK_BYTES}  # by platform, where programs hold a stack of their own


def base_firmware() -> None:
    """Writes the table anew. Boards of platforms that cannot be built here have no row."""
    table = {board.name: rows for board in all_boards() if (rows := dict(_rows(board)))}
    place = Path(boards.__file__).parent / TABLE
    place.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _rows(board: Board) -> Iterator[tuple[str, dict[str, int]]]:
    for name in filter(PLATFORMS.__contains__, board.platforms):
        platform = platform_of(board, name)
        if not isinstance(platform, CompilerPlatform):
            continue
        options = CompileOptions(force=True)
        artifact = compile_for(import_model(_MODEL, options), board, options).artifact
        with tempfile.TemporaryDirectory() as folder:
            try:
                firmware = _built(platform, artifact, board, Path(folder) / "project")
            except ToolError as error:
                sys.stderr.write(f"{board.name}, {name}: {error.what}\n")
                continue
            yield name, _base(firmware, project_source(artifact), _STACKS.get(name, 0))


def _built(platform: CompilerPlatform, artifact: Artifact, board: Board, folder: Path) -> Firmware:
    platform.generate(project_source(artifact), folder, board, App.RPC)
    return platform.build(folder, board)


def _base(firmware: Firmware, source: ProjectSource, server_stack: int) -> dict[str, int]:
    """What remains of the firmware without the model's code, constants, arenas and stack."""
    whole, objects = sizes(firmware.elf), firmware.elf.parent / "model"
    model = sum(sizes(objects / f"{source.name}{part}.o").flash for part in ("", "_weights"))
    stack = server_stack + source.stack_bytes if server_stack else 0
    callers = sum(tensor.bytes for tensor in source.callers)
    variables = whole.ram - source.arena_bytes - callers - stack
    return {
        "ram_bytes": -(-variables // _ROUNDED_TO) * _ROUNDED_TO,
        "stack_bytes": server_stack,
        "flash_bytes": -(-(whole.flash - model) // _ROUNDED_TO) * _ROUNDED_TO,
    }
