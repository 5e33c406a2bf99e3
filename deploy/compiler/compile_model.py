"""Compiles a model for a board and checks that it fits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from aot.errors import InputError
from aot.passes.pipeline import PassStep
from artifact.artifact import Artifact, artifact_of, with_sizes
from artifact.report import Report, make_report
from artifact.whole_file import write_whole
from boards.board import Board
from codegen.axis_sizes import is_open
from codegen.c.variants import emit_variants
from codegen.compile import CompiledModel
from codegen.job import ImportedModel, Job
from codegen.kernels.tuning_records import Selection
from codegen.model import PackedTable
from codegen.options import CDialect, CompileOptions
from deploy.cli.command_result import Paged
from deploy.compiler.board_or_target import options_on, require_cores
from deploy.compiler.fit import require_fit
from deploy.compiler.jobs import compile_or_explain, job_for
from deploy.compiler.save_compiled import save
from deploy.compiler.several_sizes import SizeCost, each_size, require_together, sizes_page, together
from deploy.devices.cartridge import require_kernels
from deploy.inspection.inspect_page import summary
from platforms.cartridge.header import identity
from platforms.templates import c_files


@dataclass(frozen=True)
class Compiled(Paged):
    """A compiled model that fits its board. str() is a page with its memory needs."""

    job: Job = field(repr=False)
    artifact: Artifact = field(repr=False)
    board: Board = field(repr=False)
    report: Report = field(repr=False)
    model: CompiledModel = field(repr=False)  # with loops, which an archive does not contain
    seconds: float  # compile time, without reading the file
    selection: Selection | None = field(default=None, repr=False)  # of tuning records, if given
    others: tuple[Compiled, ...] = field(default=(), repr=False)  # the model at smaller sizes

    def __str__(self) -> str:
        page = summary(self.report, self.board)
        return f"{page}\n\n{sizes_page(self.costs)}" if self.others else page

    @property
    def costs(self) -> tuple[SizeCost, ...]:
        """Returns the cost of each size, the largest first."""
        return tuple(
            SizeCost(each.artifact.facts, each.model.constants.bytes_elsewhere)
            for each in (self, *self.others)
        )

    def __repr__(self) -> str:
        sizes = f"{self.arena_bytes:,} bytes of arena, {self.constants_bytes:,} of constants"
        return f"<{self.artifact.name} for {self.board.name}: {sizes}>"

    @property
    def steps(self) -> tuple[PassStep, ...]:
        """The passes that ran on its graph."""
        return self.model.planned.steps

    @property
    def arena_bytes(self) -> int:
        return self.artifact.facts.arena_bytes

    @property
    def constants_bytes(self) -> int:
        return self.artifact.facts.constants_bytes

    def save(self, path: str | Path) -> None:
        """Writes an archive with the device runtime, or plain sources if `path` is a folder."""
        save(self.artifact, self.job.model.graph, Path(path))

    def save_cartridge(
        self,
        path: str | Path,
        key: str | Path | None = None,
        firmware: str | Path | None = None,
        product: str = "",
        model_version: int = 0,
    ) -> None:
        """Writes a cartridge for running firmware, signed with the private key in the PEM file `key`.

        Firmware accepts it only if it was made for the same product and runs no later version. The cartridge
        contains the model's code and weights. For a model with external weights it contains only the weights;
        for one compiled with tables, a table. If `firmware` is given, it must have the table's kernels.
        """
        from deploy.devices.cartridge import (  # elftools is slow to import
            cartridge_of,
            table_of,
            weights_of,
        )

        model = identity(product, model_version)

        if firmware is not None:
            require_kernels(self._table(), Path(firmware))
        if self.others:
            raise InputError(
                "a cartridge holds one input size, and --shape gives several",
                hint="choose one, for example --shape x=1,3,32,32",
            )
        if self.artifact.facts.options.cores > 1 and self.model.weights is None:
            raise InputError(
                "cartridges run on one core, but this model was compiled with --cores 2", hint="--cores 1"
            )
        signer, graph = None if key is None else Path(key), self.job.model.graph
        if self.model.weights is not None:
            made = weights_of(self.model.weights, self.artifact, graph, signer, model)
        elif self.model.table is not None:
            made = table_of(self.model.table, self.artifact, graph, self.board, signer, model)
        else:
            made = cartridge_of(self.artifact, graph, self.board, signer, model)
        write_whole(Path(path), made, "the cartridge")

    def _table(self) -> PackedTable:
        if self.model.table is None:
            raise InputError(
                "--firmware applies only to models compiled with --tables",
                hint="deploy compile --tables",
            )
        return self.model.table


def compile_for(model: ImportedModel, board: Board, options: CompileOptions) -> Compiled:
    """Compiles a model. Raises ModelError if it is not supported, and FitError if it does not fit."""
    require_cores(board, options)
    if is_open(options.shapes):
        return _compile_sizes(model, board, options)
    known = options_on(board, options)
    job, selection = job_for(model, board.target, known, board.name, board.base_firmware)
    return compile_on(board, job, selection)


def compile_for_firmware(model: ImportedModel, board: Board, options: CompileOptions) -> Compiled:
    """Compiles for firmware of this package: constants in slow flash may move to free RAM."""
    return compile_for(model, board, options_in_firmware(board, options))


def options_in_firmware(board: Board, options: CompileOptions) -> CompileOptions:
    """Returns the options with `place` if the board's flash has wait states and no option forbids it."""
    reads = board.target.flash_reads
    waits = reads is not None and reads.wait_cycles > 0
    forbidden = options.tables or is_open(options.shapes) or options.dialect is CDialect.STRICT
    return replace(options, place=True) if waits and not forbidden else options


def _compile_sizes(model: ImportedModel, board: Board, options: CompileOptions) -> Compiled:
    """Compiles the model at each size. Sizes share equal constants."""
    if options.place:
        raise InputError(
            "--place needs one input size, and --shape gives several",
            hint="use --constants LAYERS=REGION, or one size: --shape x=1,3,32,32",
        )
    made: list[Compiled] = []
    for sized, known in each_size(model, options):
        job, selection = job_for(
            sized, board.target, options_on(board, known), board.name, board.base_firmware
        )
        defined = {name: array for each in made for name, array in each.model.constants.arrays.items()}
        made.append(compile_on(board, replace(job, defined=defined), selection))
    first, *others = made
    facts = [each.artifact.facts for each in made]
    require_together(facts)
    require_fit(make_report(together(facts), firmware=board.base_firmware), board)
    chooser = emit_variants([each.model for each in made], _open_inputs(options))
    artifact = with_sizes(first.artifact, [each.artifact for each in others], chooser)
    seconds = sum(each.seconds for each in made)
    return replace(first, artifact=artifact, seconds=seconds, others=tuple(others))


def _open_inputs(options: CompileOptions) -> list[str]:
    return [name for name, sizes in options.shapes.items() if is_open({name: sizes})]


def compile_on(board: Board, job: Job, selection: Selection | None = None) -> Compiled:
    """Compiles a job. `selection` is the source of its tuned points."""
    start = time.perf_counter()
    compiled = compile_or_explain(job)
    artifact = artifact_of(compiled, {name: text.encode() for name, text in c_files("common")})
    seconds = time.perf_counter() - start
    report = make_report(artifact.facts, firmware=board.base_firmware)
    require_fit(report, board, job)
    return Compiled(job, artifact, board, report, compiled, seconds, selection)
