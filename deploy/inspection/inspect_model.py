"""Inspects a model or an archive: its contents, and whether it fits a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aot.errors import BoardError, InputError, did_you_mean
from aot.ir.graph import Graph
from aot.passes.pipeline import PassStep
from aot.target import Feature, Target
from artifact.archive import is_archive
from artifact.facts import facts_of
from artifact.memory_map import draw_memory
from artifact.report import Report, make_report
from artifact.whole_file import write_whole
from boards.cores import load_core
from codegen.compile import CompiledModel
from codegen.job import ImportedModel, Job, import_model
from codegen.options import CompileOptions
from deploy.cli.command_result import monospaced
from deploy.cli.console import OnProgress, progress, reports_progress
from deploy.cli.options import require_no_options
from deploy.cli.terminal_width import terminal_columns
from deploy.compiler.board_or_target import options_on, require_cores
from deploy.compiler.fit import require_core, require_fit
from deploy.compiler.jobs import compile_or_explain, job_for, open_batch_lines
from deploy.inputs.result_paths import require_place
from deploy.inspection.counted_outputs import count_lines
from deploy.inspection.inspect_facts import arena_facts, report_facts
from deploy.inspection.inspect_page import layers_table, summary, time_facts
from deploy.inspection.layer_view import LayerView, view_of
from deploy.inspection.pass_page import explained, known_names, named, step_facts
from platforms.board_files import load_board
from platforms.folder import is_project, read_project

if TYPE_CHECKING:
    from boards.board import Board
    from codegen.fit.budgets import Offers


@dataclass(frozen=True)
class Inspection:
    """A report with its board. str() is the page for people."""

    report: Report
    board: Board | None
    job: Job | None = field(default=None, repr=False)  # of a model file; archives have neither this ...
    compiled: CompiledModel | None = field(default=None, repr=False)  # ... nor this

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        return self.page()

    def _repr_html_(self) -> str:
        """Returns the page with layers and the plot of the arena over time, for notebooks."""
        from artifact.memory_svg import draw_memory_svg

        return f"{monospaced(self.page(layers=True))}\n{draw_memory_svg(self.report.facts)}"

    @property
    def fits(self) -> bool | None:
        """True if the model fits; None without a board."""
        return self.report.fits if self.board else None

    def require_fit(self) -> None:
        """Raises FitError if a board is given and the model does not fit."""
        if self.board:
            require_fit(self.report, self.board, self.job)

    def steps_of(self, passes: Sequence[str]) -> tuple[PassStep, ...]:
        """Returns the steps of these passes, or of "all". Raises InputError for an archive."""
        return named(self._compiled("the changes of the passes").planned.steps, passes)

    def layer(self, wanted: int | str) -> LayerView:
        """Returns a layer by index or name: node, loops, C, assembly. Raises InputError for an archive."""
        return view_of(self._compiled("the loops of its layers"), wanted)

    def _compiled(self, asked: str) -> CompiledModel:
        if self.compiled is None:
            raise InputError(
                f"an archive does not contain {asked}", self.report.facts.source_name, "give the model file"
            )
        return self.compiled

    def explain(self, *passes: str) -> str:
        """Describes the rewrites of these passes, or of "all", and why they skipped the rest."""
        for name in passes:
            known = known_names()
            if name not in known:
                wrong = f'"{name}" is not a known pass{did_you_mean(name, known)}'
                raise InputError(wrong, hint=f"known: {', '.join(known)}")
        return explained(self.steps_of(passes))

    def page(self, layers: bool = False, memory: bool = False, steps: Sequence[PassStep] = ()) -> str:
        """Returns the page, optionally with a table of layers, a map of the arena, and the passes' steps."""
        model = self.job.model if self.job else None
        opened = (
            (*open_batch_lines(model), *count_lines(model.graph), *_unrolled_lines(model.graph))
            if model
            else ()
        )
        parts = ["\n".join((summary(self.report, self.board), *opened))]
        if layers:
            parts.append(layers_table(self.report))
        if memory:
            parts.append(draw_memory(self.report.facts.memory, width=terminal_columns()).rstrip("\n"))
        if steps:
            parts.append(explained(steps))
        return "\n\n".join(parts)

    def as_json(self, memory: bool = False, steps: Sequence[PassStep] = ()) -> dict[str, Any]:
        """Returns the same facts as JSON data, optionally with the arena and the passes' steps."""
        facts = report_facts(self.report, self.board.name if self.board else None)
        cycles = self.report.facts.cycles
        facts["time"] = time_facts(cycles, self.board.clock_hz if self.board else 0) if cycles else None
        if self.job and self.job.model.graph.unrolled:
            facts["unrolled"] = dict(self.job.model.graph.unrolled)
        if memory:
            facts["arena"] = arena_facts(self.report.facts.memory)
        if steps:
            facts["passes"] = [step_facts(step) for step in steps]
        return facts

    def draw(self, path: Path, picture: str = "") -> None:
        """Writes the plot of the arena over time, or another picture, as an SVG file."""
        from artifact.memory_svg import draw_memory_svg

        require_place(path, _is_svg, "an SVG picture")
        write_whole(path, (picture or draw_memory_svg(self.report.facts)).encode())

    @reports_progress
    def offers(self, *, on_progress: OnProgress | None = None) -> Offers:
        """Returns the trade-off of RAM, flash and cycles. Raises InputError for an archive."""
        from codegen.fit.budgets import offers_for

        self._compiled("the speed of other budgets")
        assert self.job is not None  # set together with the compiled model
        with progress("planning", 1) as bar:
            bar.step("other budgets")
            return offers_for(self.job)


def _unrolled_lines(graph: Graph) -> list[str]:
    """Returns a line for each loop of the file that is not one layer."""
    return [f"  unrolled   {loop}: {reason}" for loop, reason in graph.unrolled.items()]


def _is_svg(path: Path) -> bool:
    with path.open("rb") as file:
        return b"<svg" in file.read(1024)


def _target_without_board() -> Target:
    """Returns the most common core with SIMD instructions and FPU."""
    return load_core("cortex-m4").target({Feature.FPU})


def inspect_file(path: Path, board: Board | None, options: CompileOptions) -> Inspection:
    """Compiles a model file for the board, or reads an archive or that of a project.

    None of them needs a C compiler.
    """
    if not (is_archive(path) or is_project(path)):
        return inspect_model(import_model(path, options), board, options)
    from artifact.archive import read_archive
    from deploy.devices.project_archive import require_archive

    require_no_options(options, path)
    is_in_project = is_project(path)
    facts = (require_archive(path) if is_in_project else read_archive(path)).facts
    if board:
        require_core(facts, board)
    board = board or _own_board(read_project(path).board if is_in_project else facts.board)
    report = make_report(facts, board.target, board.base_firmware) if board else make_report(facts)
    return Inspection(report, board)


def _own_board(name: str) -> Board | None:
    """Returns the board of an archive or a project; None for a target, or a file not found here."""
    try:
        return load_board(name) if name else None
    except BoardError:
        return None


def inspect_model(model: ImportedModel, board: Board | None, options: CompileOptions) -> Inspection:
    if board:
        require_cores(board, options)
    target = board.target if board else _target_without_board()
    known, firmware = (options_on(board, options), board.base_firmware) if board else (options, None)
    job, _ = job_for(model, target, known, firmware=firmware)
    compiled = compile_or_explain(job)
    return Inspection(make_report(facts_of(compiled), firmware=firmware), board, job, compiled)
