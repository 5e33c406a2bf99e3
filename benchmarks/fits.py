"""Compares the memory that commands state before a build with the memory that the build takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aot.errors import FitError
from benchmarks.shared import model_file
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy import demo
from deploy.compiler.compile_model import compile_for
from platforms.base import platform_of
from platforms.board_files import all_boards
from platforms.elf import sizes
from platforms.project import App, project_source

HEAD = (
    "Memory of firmware with a model: what `deploy inspect --board`, `compile`, `new`, `report` and\n"
    "`boards list --fits` state before a build, and what `deploy build` makes. Printed by\n"
    "`python -m benchmarks fits`: a small model on all boards that can be built, others on a board of each\n"
    "kind of core. Models without a row do not fit.\n\n"
    "| board | model | flash, stated | built | error | RAM, stated | built | error |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)
DIGITS = Path(demo.__file__).parent / "digits.tflite"
_MORE_ON = ("nucleo-f446re", "mps2-an383", "mps2-an385", "mps3-an547", "qemu-riscv32")
_SHARED = ("tflm_micro_speech_int8", "ml_micro_kws_m_int8", "tflm_magic_wand_f32")


@dataclass(frozen=True, slots=True)
class Compared:
    """Bytes that were stated and bytes that were built."""

    stated: int
    built: int

    @property
    def error(self) -> float:
        return self.stated / self.built - 1

    def __str__(self) -> str:
        return f"{self.stated:,} | {self.built:,} | {self.error:+.1%}"


def counted_boards() -> list[Board]:
    """Returns the boards whose firmware is counted, except this computer, which has no flash."""
    return [board for board in all_boards() if (base := board.base_firmware) and base.stack_bytes]


def stated_and_built(board: Board, model: Path, folder: Path) -> dict[str, Compared]:
    """Returns flash and RAM of firmware that is built in the folder. Raises FitError."""
    assert board.base_firmware is not None
    platform = platform_of(board, board.base_firmware.platform)
    options = CompileOptions()
    compiled = compile_for(import_model(model, options), board, options)
    platform.generate(project_source(compiled.artifact), folder, board, App.RPC)
    built = sizes(platform.build(folder, board).elf)
    stated = compiled.report.needed_bytes
    return {"flash": Compared(stated("flash"), built.flash), "ram": Compared(stated("ram"), built.ram)}


def fit_rows() -> Iterator[str]:
    """Yields a row for each board and model."""
    others = {name: model_file(name) for name in _SHARED}
    for board in counted_boards():
        for name, path in {"digits": DIGITS, **(others if board.name in _MORE_ON else {})}.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = stated_and_built(board, path, Path(folder) / "project")
                except FitError:
                    continue
            yield f"| {board.name} | {name} | {found['flash']} | {found['ram']} |\n"
