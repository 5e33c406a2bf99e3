"""A model file for a board: compiled, and known to fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from codegen.archive import write_archive
from codegen.facts import facts_of
from codegen.kernels.knobs import NOT_TUNED
from codegen.model import CompiledModel, CompileOptions
from codegen.report import Report, make_report
from codegen.tuning_records import Selection, TuningRecord, select
from deploy.fit import require_fit
from deploy.squeezing import compile_into
from platforms.templates import c_files
from platforms.toolchains import find_toolchain


@dataclass(frozen=True)
class Compiled:
    """A model that fits its board."""

    model: CompiledModel = field(repr=False)
    board: Board = field(repr=False)
    report: Report = field(repr=False)
    seconds: float  # that compiling took
    selection: Selection | None = field(default=None, repr=False)  # of tuning records, where some were given

    @property
    def arena_bytes(self) -> int:
        return self.model.plan.arena_bytes

    @property
    def constants_bytes(self) -> int:
        return self.model.constants_bytes

    def save(self, path: str | Path) -> None:
        """Writes the archive: the model's own files, and the device runtime beside them."""
        write_archive(self.model, Path(path), {name: text.encode() for name, text in c_files("common")})


def compile_for(
    path: Path, board: Board, options: CompileOptions, records: Sequence[TuningRecord] = ()
) -> Compiled:
    """Raises ModelError for what cannot be compiled, FitError for what has no room."""
    start = time.perf_counter()
    selection = select(records, board.target.core, _compiler(board)) if records else None
    points = selection.points if selection else NOT_TUNED
    model = compile_into(path, board.target, options, points, board.name)
    seconds = time.perf_counter() - start
    report = make_report(facts_of(model))
    require_fit(report, board)
    return Compiled(model, board, report, seconds, selection)


def _compiler(board: Board) -> str:
    """That a build here would use; records of another do not count."""
    try:
        return str(find_toolchain(board.target))
    except ToolError:
        return ""
