"""A model file for a board: compiled, and known to fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from boards.board import Board
from codegen.archive import write_archive
from codegen.compile import compile_model
from codegen.facts import facts_of
from codegen.model import CompiledModel, CompileOptions
from codegen.report import Report, make_report
from codegen.tuning_records import TuningRecord, best_tiles
from deploy.fit import require_fit
from platforms.templates import c_files


@dataclass(frozen=True)
class Compiled:
    """A model that fits its board."""

    model: CompiledModel = field(repr=False)
    board: Board = field(repr=False)
    report: Report = field(repr=False)
    seconds: float  # that compiling took

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
    model = compile_model(path, board.target, options, best_tiles(records, board.target.core))
    seconds = time.perf_counter() - start
    report = make_report(facts_of(model))
    require_fit(report, board)
    return Compiled(model, board, report, seconds)
