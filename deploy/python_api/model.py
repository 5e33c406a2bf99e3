"""A loaded model file: its graph, inputs and outputs, and the reference that runs it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aot import interpret
from aot.errors import BoardError, InputError
from aot.ir.graph import Graph
from aot.ir.tensor_spec import graph_specs
from aot.ir.text import print_graph
from aot.ir.types import Array, TensorType
from artifact.archive import read_archive
from artifact.artifact import Artifact
from codegen.job import ImportedModel, import_model
from codegen.options import OPTIONS, CompileOptions, read_options
from deploy.cli.command_result import Paged
from deploy.cli.options import require_no_options
from deploy.compiler.compile_model import Compiled
from deploy.frameworks.table import framework_of
from deploy.inputs.given_arrays import Inputs, only_inputs
from deploy.inputs.quantized_values import as_integers, dequantized
from deploy.inputs.samples import make_samples
from deploy.python_api.option_keywords import READING, accepts_options
from platforms.board_files import load_board


@dataclass(frozen=True)
class Model(Paged):
    """A loaded model file with its graph."""

    path: Path
    imported: ImportedModel = field(repr=False)
    options: CompileOptions  # with which it was loaded

    @property
    def graph(self) -> Graph:
        return self.imported.graph

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.inputs}

    @property
    def outputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.outputs}

    def __repr__(self) -> str:
        slots = (graph_specs(self.graph, names) for names in (self.graph.inputs, self.graph.outputs))
        inputs, outputs = (", ".join(f"{spec.name} {spec}" for spec in each) for each in slots)
        return f"<{self.path.name}: {inputs} -> {outputs}>"

    def __str__(self) -> str:
        return print_graph(self.graph)

    def run(self, inputs: Inputs, quantize: bool = False, dequantize: bool = False) -> dict[str, Array]:
        """Runs the reference and returns the outputs by name; for a series or a batch, those of all samples.

        `quantize` converts float inputs to the model's integers, `dequantize` outputs to floats.
        """
        taken, made = (graph_specs(self.graph, names) for names in (self.graph.inputs, self.graph.outputs))
        given = only_inputs(inputs)
        samples = make_samples(as_integers(given, taken) if quantize else given, taken, "inputs")
        each = [dict(zip(self.graph.inputs, sample, strict=True)) for sample in samples.each]
        found = list(interpret.run_series(self.graph, each))
        outputs = {name: samples.stacked([out[name] for out in found]) for name in self.graph.outputs}
        return dequantized(outputs, made) if dequantize else outputs


@accepts_options(READING)
def load(path: str | Path, **options: Any) -> Model:
    """Loads a model file. Raises ModelError for unsupported models."""
    known = read_options(options, names=READING)
    place = model_path(path)
    return Model(place, import_model(place, known), known)


def model_path(model: object) -> Path:
    """Returns the path of a model file. Raises InputError with a hint for anything else."""
    if isinstance(model, str | os.PathLike):
        return Path(model)
    framework = framework_of(model)
    if framework is not None:
        raise InputError(
            f"this is a {framework.thing} of {framework.name}, but a model file is needed",
            hint=f"compiled = deploy.compile({framework.thing}, board=..., example={framework.example})\n"
            "pass `compiled`, or the archive that compiled.save(path) writes",
        )
    raise InputError(
        f"a model must be a path or the result of deploy.load, not a {type(model).__name__}",
        hint="deploy.compile also accepts PyTorch, Keras, scikit-learn and JAX models",
    )


def imported_with(model: str | Path | Model, options: CompileOptions) -> ImportedModel:
    """Returns the loaded model, reloaded if these options change how its file is read."""
    if isinstance(model, Model) and _reading(model.options) == _reading(options):
        return model.imported
    return import_model(model.path if isinstance(model, Model) else model_path(model), options)


def _reading(options: CompileOptions) -> list[object]:
    """Returns the options that affect how a model file is read."""
    return [getattr(options, OPTIONS[name].field) for name in READING]


def options_with(
    model: str | Path | Model, given: Mapping[str, object], names: Collection[str] = OPTIONS
) -> CompileOptions:
    """Returns the given options, on top of those the model was loaded with, or the defaults."""
    return read_options(given, model.options if isinstance(model, Model) else CompileOptions(), names)


def require_same(compiled: Compiled, board: str | None, options: Mapping[str, object]) -> None:
    """Rejects another board or options for a compiled model. Raises InputError, BoardError."""
    require_no_options(read_options(options), compiled.artifact.facts.source_name)
    if board is not None and load_board(board).name != compiled.board.name:
        raise BoardError(
            f'{compiled.artifact.name} is compiled for board "{compiled.board.name}", not for "{board}"',
            hint=f'compile it for that board: deploy.compile(model, board="{board}")',
        )


def read_artifact(model: str | Path | Compiled) -> Artifact:
    """Returns the artifact of a compiled model or an archive."""
    return model.artifact if isinstance(model, Compiled) else read_archive(model_path(model))
