"""The request for a report, shared by the command and the Python function, which is here, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec, graph_specs
from aot.ir.types import Array
from artifact.archive import is_archive, read_archive
from artifact.artifact import Artifact
from boards.board import Board
from codegen.job import ImportedModel, import_model
from codegen.options import CompileOptions
from deploy.cli.console import OnProgress, reports_progress
from deploy.cli.options import require_no_options
from deploy.compiler.compile_model import Compiled
from deploy.devices.firmware import named_board
from deploy.devices.project_archive import require_archive
from deploy.inputs.given_arrays import by_name, with_labels
from deploy.python_api.model import Model, imported_with, model_path, options_with, require_same
from deploy.python_api.option_keywords import accepts_options
from deploy.reporting.attempt import Measuring
from deploy.reporting.given_data import GivenData, give_data
from deploy.reporting.make import report_on_artifact, report_on_model
from deploy.reporting.model_report import ModelReport
from platforms.board_files import load_board
from platforms.folder import is_project

# The request for a report, shared by the command and the Python function.


@dataclass(frozen=True)
class Asked:
    """The boards of a report, the user's data, and whether to estimate cycles."""

    boards: tuple[Board, ...]
    arrays: Mapping[str, Array] | None = None  # inputs by name, and "labels"
    where: str = "data"  # the source of the arrays
    quantize: bool = False  # converts float inputs to the model's integers
    float_model: ImportedModel | None = None
    measuring: Measuring | None = None

    def __post_init__(self) -> None:
        if self.float_model is not None and self.arrays is None:
            raise InputError("--float-model needs --data", hint="--data LABELED.npz")


def read_subject(path: Path, options: CompileOptions) -> ImportedModel | Artifact:
    """Reads a model file, an archive, or that of a project. Raises DeployError."""
    if is_project(path):
        return require_archive(path)
    return read_archive(path) if is_archive(path) else import_model(path, options)


def boards_of(names: Sequence[str], path: Path) -> tuple[Board, ...]:
    """Returns the named boards, or that of the archive or project."""
    return tuple(map(load_board, names)) or (named_board(None, path),)


def report_on(model: ImportedModel | Artifact, asked: Asked, options: CompileOptions) -> ModelReport:
    """Returns a report on a model file or an archive. Raises DeployError."""
    if isinstance(model, ImportedModel):
        graph = model.graph
        specs = graph_specs(graph, graph.inputs), graph_specs(graph, graph.outputs)
        return report_on_model(model, asked.boards, options, asked.measuring, _given(asked, *specs))
    facts = model.facts
    require_no_options(options, facts.source_name)
    if asked.measuring is not None:
        raise InputError(
            "--measure needs a model file; this model is already compiled",
            facts.source_name,
            "give the model file",
        )
    return report_on_artifact(model, asked.boards, _given(asked, facts.inputs, facts.outputs))


def _given(asked: Asked, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> GivenData | None:
    if asked.arrays is None:
        return None
    return give_data(asked.arrays, asked.quantize, inputs, outputs, asked.where, asked.float_model)


# The command `deploy report` as a Python function.


@accepts_options()
@reports_progress
def report(
    model: str | Path | Model | Compiled,
    board: str | Sequence[str] = (),
    data: Mapping[str, Array] | None = None,
    labels: Array | None = None,
    float_model: str | Path | None = None,
    quantize: bool = False,
    measure: bool = False,
    toolchain: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> ModelReport:
    """Reports whether a model or an archive fits each board, what uses resources, and what would help.

    `board` may be omitted for an archive, a project and a compiled model, which have one.
    `data` has inputs by name; `labels`, their classes, next to them or among them, give accuracy. The report
    shows each layer's range of values and, with a `float_model`, its distance to that model. `measure` counts
    cycles in an emulator. print() shows Markdown; save(path) writes a web page, Markdown or JSON.
    """
    known = CompileOptions() if isinstance(model, Compiled) else options_with(model, options)
    asked = Asked(
        boards=_boards_of(model, [board] if isinstance(board, str) else board),
        arrays=None if data is None else with_labels(by_name(data), labels),
        quantize=quantize,
        float_model=None if float_model is None else import_model(model_path(float_model), known),
        measuring=Measuring(toolchain) if measure else None,
    )
    if isinstance(model, Compiled):
        require_same(model, None, options)
    return report_on(_of(model, known), asked, known)


def _boards_of(model: str | Path | Model | Compiled, names: Sequence[str]) -> tuple[Board, ...]:
    if isinstance(model, Compiled) and not names:
        return (model.board,)
    return boards_of(names, model.path if isinstance(model, Model) else model_path(model))


def _of(model: str | Path | Model | Compiled, options: CompileOptions) -> ImportedModel | Artifact:
    if isinstance(model, Compiled):
        return model.artifact
    if isinstance(model, Model):
        return imported_with(model, options)
    return read_subject(model_path(model), options)
