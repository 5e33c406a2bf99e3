"""Compiles a model for a board and makes sure that it fits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from aot.errors import InputError
from aot.passes.pipeline import PassStep
from artifact.artifact import Artifact, artifact_of
from artifact.report import Report, make_report
from artifact.whole_file import write_whole
from boards.board import Board
from codegen.job import ImportedModel, Job
from codegen.kernels.tuning_records import Selection
from codegen.model import CompiledModel, PackedTable
from codegen.options import CompileOptions
from deploy.answer import Paged
from deploy.board_accelerators import options_on
from deploy.cartridge import cartridge_of, table_of, weights_of
from deploy.fit import require_fit
from deploy.inspect_page import summary
from deploy.jobs import compile_or_explain, job_for
from deploy.kernels_held import require_kernels
from deploy.saving import save
from platforms.templates import c_files


@dataclass(frozen=True)
class Compiled(Paged):
    """A model that fits its board; str() is the page of what it needs there."""

    job: Job = field(repr=False)
    artifact: Artifact = field(repr=False)
    board: Board = field(repr=False)
    report: Report = field(repr=False)
    model: CompiledModel = field(repr=False)  # with its loops, which an archive does not hold
    seconds: float  # that compiling took, reading the file not counted
    selection: Selection | None = field(default=None, repr=False)  # of tuning records, where some were given

    def __str__(self) -> str:
        return summary(self.report, self.board.name)

    def __repr__(self) -> str:
        sizes = f"{self.arena_bytes:,} bytes of arena, {self.constants_bytes:,} of constants"
        return f"<{self.artifact.name} for {self.board.name}: {sizes}>"

    @property
    def steps(self) -> tuple[PassStep, ...]:
        """The passes over its graph."""
        return self.model.steps

    @property
    def arena_bytes(self) -> int:
        return self.artifact.facts.arena_bytes

    @property
    def constants_bytes(self) -> int:
        return self.artifact.facts.constants_bytes

    def save(self, path: str | Path) -> None:
        """Writes the archive, the device runtime in it; into a folder, plain sources for another project."""
        save(self.artifact, self.job.model.graph, Path(path))

    def save_cartridge(
        self, path: str | Path, key: str | Path | None = None, firmware: str | Path | None = None
    ) -> None:
        """Writes a cartridge for running firmware, signed with the private key of that PEM file.

        It holds the model's code with its weights; where those are external, the weights alone; where tables
        can run the model's kernels, such a table: its firmware must have them where it is named.
        """
        if firmware is not None:
            require_kernels(self._table(), Path(firmware))
        signer, graph = None if key is None else Path(key), self.job.model.graph
        if self.model.weights is not None:
            made = weights_of(self.model.weights, self.artifact, graph, signer)
        elif self.model.table is not None:
            made = table_of(self.model.table, self.artifact, graph, self.board, signer)
        else:
            made = cartridge_of(self.artifact, graph, self.board, signer)
        write_whole(Path(path), made, "the cartridge")

    def _table(self) -> PackedTable:
        if self.model.table is None:
            raise InputError(
                "only tables need kernels of the firmware, and this model is none",
                hint="deploy compile --tables",
            )
        return self.model.table


def compile_for(model: ImportedModel, board: Board, options: CompileOptions) -> Compiled:
    """Compiles. Raises ModelError where the model cannot be compiled, FitError where it does not fit."""
    job, selection = job_for(model, board.target, options_on(board, options), board.name)
    return compile_on(board, job, selection)


def compile_on(board: Board, job: Job, selection: Selection | None = None) -> Compiled:
    """The same of a job; `selection` is where its points are from."""
    start = time.perf_counter()
    compiled = compile_or_explain(job)
    artifact = artifact_of(compiled, {name: text.encode() for name, text in c_files("common")})
    seconds = time.perf_counter() - start
    report = make_report(artifact.facts)
    require_fit(report, board, job)
    return Compiled(job, artifact, board, report, compiled, seconds, selection)
