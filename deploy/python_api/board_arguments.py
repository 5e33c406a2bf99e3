"""Converts arguments of Python functions about boards: a model in any form, and options by keyword."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from artifact.archive import is_archive
from boards.board import Board
from codegen.job import ImportedModel, Job
from codegen.option_entry import read_given, require_known
from codegen.options import OPTIONS, CompileOptions
from deploy.compiler.board_or_target import options_on
from deploy.compiler.compile_model import Compiled, compile_for_firmware
from deploy.devices.connection_options import LINE, LineOptions
from deploy.devices.firmware import Prepared, named_board, prepare, prepare_compiled
from deploy.devices.project_archive import require_archive
from deploy.inputs.input_options import DATA, DataOptions
from deploy.python_api.model import Model, imported_with, model_path, options_with, require_same
from deploy.python_api.option_keywords import TUNING


def line_arguments(options: dict[str, Any]) -> LineOptions:
    """Removes and returns the connection options."""
    require_known(options, {**OPTIONS, **DATA, **LINE})
    return read_given(LineOptions(), LINE, {name: options.pop(name) for name in LINE if name in options})


def data_arguments(options: dict[str, Any]) -> DataOptions:
    """Removes and returns the input options."""
    return read_given(DataOptions(), DATA, {name: options.pop(name) for name in DATA if name in options})


def prepared_of(
    model: str | Path | Model | Compiled,
    board: str | None,
    options: Mapping[str, object],
    compile_model: Callable[[ImportedModel, Board, CompileOptions], Compiled] = compile_for_firmware,
) -> Prepared:
    """Returns a model file, an archive, a project folder or a compiled model in the form for building."""
    if isinstance(model, Compiled):
        require_same(model, board, options)
        return prepare_compiled(model)
    known = options_with(model, options)
    if isinstance(model, Model):
        imported = imported_with(model, known)
        return prepare_compiled(compile_model(imported, named_board(board, model.path), known))
    return prepare(model_path(model), board, known, compile_model)


def job_of(
    model: str | Path | Model | Compiled, board: str | None, options: Mapping[str, object]
) -> tuple[Job, Board]:
    """Returns the job that tuning starts from, and its board; archives and projects keep their options."""
    if isinstance(model, Compiled):
        require_same(model, board, options)
        return model.job, model.board
    known, path = options_with(model, options, TUNING), model.path if isinstance(model, Model) else model
    if isinstance(path, str | Path) and (is_archive(model_path(path)) or model_path(path).is_dir()):
        prepared = prepare(model_path(path), board, known)
        artifact = prepared.artifact or require_archive(model_path(path))
        found, known = prepared.board, artifact.facts.options
        imported = replace(prepared, artifact=artifact).reference
    else:
        found, imported = named_board(board, model_path(path)), imported_with(model, known)
    job = Job(
        imported, found.target, options_on(found, known), board=found.name, firmware=found.base_firmware
    )
    return job, found
