"""The command `deploy report` as a Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aot.ir.types import Array
from artifact.artifact import Artifact
from codegen.job import ImportedModel, import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import Compiled
from deploy.inputs.given_arrays import by_name, with_labels
from deploy.python_api.model import Model, imported_with, model_path, options_with, require_same
from deploy.python_api.option_keywords import takes_options
from deploy.reporting.asked import Asked, read_subject, report_on
from deploy.reporting.attempt import Measuring
from deploy.reporting.model_report import ModelReport
from platforms.board_files import load_board


@takes_options()
def report(
    model: str | Path | Model | Compiled,
    board: str | Sequence[str],
    data: Mapping[str, Array] | None = None,
    labels: Array | None = None,
    float_model: str | Path | None = None,
    quantize: bool = False,
    measure: bool = False,
    toolchain: str | None = None,
    **options: Any,
) -> ModelReport:
    """Reports whether a model or an archive fits each board, what uses resources, and what would help.

    `data` has inputs by name; `labels`, their classes, next to them or among them, give accuracy. The report
    shows each layer's range of values and, with a `float_model`, its distance to that model. `measure` counts
    cycles in an emulator. print() shows Markdown; save(path) writes a web page, Markdown or JSON.
    """
    known = CompileOptions() if isinstance(model, Compiled) else options_with(model, options)
    asked = Asked(
        boards=tuple(load_board(name) for name in ([board] if isinstance(board, str) else board)),
        arrays=None if data is None else with_labels(by_name(data), labels),
        quantize=quantize,
        float_model=None if float_model is None else import_model(model_path(float_model), known),
        measuring=Measuring(toolchain) if measure else None,
    )
    if isinstance(model, Compiled):
        require_same(model, None, options)
    return report_on(_of(model, known), asked, known)


def _of(model: str | Path | Model | Compiled, options: CompileOptions) -> ImportedModel | Artifact:
    if isinstance(model, Compiled):
        return model.artifact
    if isinstance(model, Model):
        return imported_with(model, options)
    return read_subject(model_path(model), options)
