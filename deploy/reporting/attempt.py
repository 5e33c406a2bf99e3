"""A model on one board with one set of options: its needs and, if measured, its cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from aot.errors import DeployError, FitError
from aot.ir.graph import Graph
from artifact.report import Report
from boards.board import Board
from codegen.job import ImportedModel
from codegen.options import ALL_OPTIONS, CompileOptions
from deploy.benchmark.bench_model import BenchChoices, BoardCost, Modelled, measure
from deploy.benchmark.meter import emulated_board
from deploy.compiler.compile_model import Compiled, compile_for_firmware
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from deploy.inspection.inspect_model import inspect_model
from platforms.base import BuildChoices


@dataclass(frozen=True)
class Attempt:
    """The report on a compiled model, and its cost in an emulator."""

    board: Board
    options: CompileOptions
    report: Report
    graph: Graph = field(repr=False)  # the graph of the layers
    cost: BoardCost | None = None
    not_measured: str = ""  # the reason, if measuring was requested but failed


@dataclass(frozen=True, slots=True)
class Measuring:
    """A request to build firmware and count cycles in an emulator of the board's core."""

    toolchain: str | None = None

    def cost_of(self, compiled: Compiled) -> tuple[BoardCost | None, str]:
        """Returns the cost, or the reason why it is unknown."""
        options = compiled.job.options
        try:
            here = emulated_board(compiled.board)
            choices = BenchChoices(
                options, BuildChoices(self.toolchain), LineOptions(), 1, True, Modelled.EMULATED
            )
            cost = measure(prepare_compiled(replace(compiled, board=here)), compiled.seconds, choices)
        except DeployError as error:
            return None, error.what
        return cost, ""


def attempt_of(
    model: ImportedModel, board: Board, options: CompileOptions, measuring: Measuring | None
) -> Attempt:
    """Compiles the model and, if requested and it fits, measures it."""
    if measuring is not None:
        try:
            compiled = compile_for_firmware(model, board, options)
        except FitError:
            return _without_cost(model, board, options, "it does not fit")
        cost, why_not = measuring.cost_of(compiled)
        return Attempt(board, options, compiled.report, compiled.model.graph, cost, why_not)
    return _without_cost(model, board, options, "")


def words_of(options: CompileOptions) -> str:
    """Returns the options that differ from their defaults, as on a command line."""
    words: list[str] = []
    for option in ALL_OPTIONS:
        value = getattr(options, option.field)
        if option.flag and value != option.default:
            words += [f"{option.flag} {word}".strip() for word in option.kind.words(value)]
    return " ".join(words)


def _without_cost(model: ImportedModel, board: Board, options: CompileOptions, why: str) -> Attempt:
    seen = inspect_model(model, board, options)
    assert seen.compiled is not None  # always set for a model file
    return Attempt(board, options, seen.report, seen.compiled.graph, None, why)


def cycles_of(attempt: Attempt) -> int | None:
    """Returns the cycles of a run, or None if unknown."""
    cost = attempt.cost
    return cost.cycles.run.count if cost is not None and cost.cycles is not None else None
