"""Creates a report: compiles for each board, tries improvements, and records each layer's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from artifact.artifact import Artifact
from artifact.report import make_report
from boards.board import Board
from codegen.job import ImportedModel
from codegen.options import CompileOptions
from deploy.cli.console import progress
from deploy.compiler.fit import require_core
from deploy.devices.board_filter import fitting
from deploy.inspection.inspect_model import inspect_model
from deploy.reporting.advice import other_boards, other_options
from deploy.reporting.attempt import Attempt, Measuring, attempt_of
from deploy.reporting.given_data import GivenData, as_floats, on_data
from deploy.reporting.layer_values import LayerValues, Watching, errors_against, values_of, watch
from deploy.reporting.model_report import ModelReport
from deploy.reporting.section import BoardSection
from platforms.board_files import all_boards

_STEPS_EACH = 2  # progress steps per board


def report_on_model(
    model: ImportedModel,
    boards: Sequence[Board],
    options: CompileOptions,
    measuring: Measuring | None,
    data: GivenData | None,
) -> ModelReport:
    """Returns a report with a section and advice for each board."""
    with progress("reporting", 1 + _STEPS_EACH * len(boards)) as bar:
        bar.step("boards with enough memory")
        fits = fitting(all_boards(), model, _of_any_board(options))
        sections = []
        for board in boards:
            bar.step(board.name)
            attempt = attempt_of(model, board, options, measuring)
            values = _values(attempt, data)
            bar.step(f"other options for {board.name}")
            tried = tuple(other_options(model, attempt, measuring))
            sections.append(BoardSection(attempt, tried, other_boards(fits, attempt), values))
    return _report(sections, data)


def report_on_artifact(artifact: Artifact, boards: Sequence[Board], data: GivenData | None) -> ModelReport:
    """Returns a report with a section for each board, without advice, because an archive is fixed."""
    sections = []
    for board in boards:
        require_core(artifact.facts, board)
        report = make_report(artifact.facts, board.target, board.base_firmware)
        attempt = Attempt(board, artifact.facts.options, report, artifact.graph)
        sections.append(BoardSection(attempt, values=_values(attempt, data)))
    return _report(sections, data)


def _report(sections: Sequence[BoardSection], data: GivenData | None) -> ModelReport:
    return ModelReport(tuple(sections), None if data is None else on_data(sections[0].attempt.graph, data))


def _of_any_board(options: CompileOptions) -> CompileOptions:
    """Removes options that name memories, which differ between boards."""
    return replace(options, pools=(), ram=None, flash=options.flash_bytes, constants=())


def _values(attempt: Attempt, data: GivenData | None) -> Mapping[int, LayerValues]:
    """Returns statistics of the layers by index and, if a float model is given, their distance to it."""
    if data is None:
        return {}
    layers = attempt.report.facts.layers
    here = Watching(attempt.graph, layers, watch(attempt.graph, data.samples))
    values = values_of(here.graph, layers, here.watched)
    if data.float_model is None:
        return values
    errors = errors_against(here, _watched_floats(data.float_model, attempt, data))
    return {number: replace(each, to_float=errors.get(number)) for number, each in values.items()}


def _watched_floats(model: ImportedModel, attempt: Attempt, data: GivenData) -> Watching:
    seen = inspect_model(model, attempt.board, CompileOptions())
    assert seen.compiled is not None  # always set for a model file
    graph = seen.compiled.graph
    return Watching(graph, seen.report.facts.layers, watch(graph, as_floats(attempt.graph, data.as_given)))
