"""The commands as Python functions, which `import deploy` offers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aot import interpret
from aot.errors import BoardError
from aot.ir.graph import Graph
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array, TensorType
from artifact.archive import read_archive
from artifact.artifact import Artifact
from boards.cores import load_core
from codegen.job import ImportedModel, Job, import_model
from codegen.option_reading import read_given, require_known
from codegen.options import OPTIONS, CompileOptions, read_options
from deploy.cache import cached
from deploy.choosing import board_or_target, require_board_or_target
from deploy.compiling import Compiled, compile_for
from deploy.data import DATA, DataOptions, Fill, make_data
from deploy.device import open_device
from deploy.differing import ArchiveDifference
from deploy.firmware import Prepared, build, named_board, prepare, prepare_compiled
from deploy.inspecting import Inspection, inspect_file, inspect_model
from deploy.jobs import compile_or_explain, job_for
from deploy.keywords import READING, TUNING, takes_options
from deploy.line import LINE, LineOptions
from deploy.measure import Meter, Spread, run_series, spread
from deploy.options import require_no_options
from deploy.quality import Truth, require_truth
from deploy.samples import RANDOM_SAMPLES, make_samples
from deploy.tuning import TuneChoices, Tuning, tune_model
from deploy.verifying import Verdict, verify_model
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.shared_library import HostModel
from platforms.shared_library import build as build_library
from platforms.toolchains import find_toolchain
from platforms.tuning.search import OnTrial, keep_silent

Inputs = Mapping[str, Array] | Sequence[Array] | Array


@dataclass(frozen=True)
class Model:
    """A model file that was read, with its graph."""

    path: Path
    imported: ImportedModel = field(repr=False)
    options: CompileOptions  # with which it was read

    @property
    def graph(self) -> Graph:
        return self.imported.graph

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.inputs}

    @property
    def outputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.outputs}

    def run(self, inputs: Inputs) -> dict[str, Array]:
        """The outputs by name, computed by the reference; of a series or a batch, those of all samples."""
        samples = make_samples(_by_name(inputs), graph_specs(self.graph, self.graph.inputs), "inputs")
        each = [dict(zip(self.graph.inputs, sample, strict=True)) for sample in samples.each]
        found = list(interpret.run_series(self.graph, each))
        return {name: samples.stacked([outputs[name] for outputs in found]) for name in self.graph.outputs}


@dataclass(frozen=True)
class Run:
    """The outputs and times of a run on a board."""

    outputs: Mapping[str, Array]  # by name; with an axis for the samples where the inputs had one
    unit: str  # "instructions", "cycles", or "" where the board counts neither
    count: Spread  # per run, in that unit
    seconds: Spread  # per run


@takes_options(READING)
def load(path: str | Path, **options: Any) -> Model:
    """Reads a model file. Raises ModelError for what is not supported."""
    known = read_options(options, names=READING)
    return Model(Path(path), import_model(Path(path), known), known)


@takes_options()
def compile(
    model: str | Path | Model, board: str | None = None, target: str | None = None, **options: Any
) -> Compiled:
    """C sources with a static memory plan for a board. `save(path)` writes the archive.

    In the place of a board, `target` may name a core, features and memories: "cortex-m4+fpu,ram=256K".
    Raises ModelError for what cannot be compiled, FitError for what has no room.
    """
    known = _options(model, options)
    return compile_for(_imported(model, known), require_board_or_target(board, target), known)


@takes_options([*OPTIONS, *DATA, *LINE])
def run(
    model: str | Path | Model | Compiled,
    inputs: Inputs | None = None,
    board: str | None = None,
    repeat: int = 1,
    toolchain: str | None = None,
    **options: Any,
) -> Run:
    """Runs a model file, an archive, a project folder or a compiled model on a board; does what is missing.

    `inputs` are arrays by name, in order, or a single one; a batch, or one more leading axis, makes a series.
    """
    line, data = _take_line(options), _take_data(options)
    prepared = _prepared(model, board, options)
    arrays = None if inputs is None else _by_name(inputs)
    if prepared.inputs is not None:
        make_data(arrays, data, prepared.inputs, 1)  # complains before anything is built
    ready = build(prepared, BuildChoices(toolchain))
    with open_device(ready, line) as device:
        samples = make_data(arrays, data, prepared.inputs or device.model.inputs, 1)
        measured = run_series(device, samples, repeat, lambda _doing: None)
    meter = Meter(ready.board)
    names = [spec.name for spec in measured.specs]
    return Run(
        outputs=dict(zip(names, measured.stacked(samples).values(), strict=True)),
        unit=meter.unit,
        count=spread([meter.count(ticks) for ticks in measured.ticks]),
        seconds=spread([meter.seconds(ticks) for ticks in measured.ticks]),
    )


@takes_options([*OPTIONS, *DATA, *LINE])
def verify(
    model: str | Path | Model,
    board: str,
    inputs: Inputs | None = None,
    layers: bool = False,
    toolchain: str | None = None,
    labels: Array | None = None,
    expected: Mapping[str, Array] | None = None,
    **options: Any,
) -> Verdict:
    """Compares a board with the reference in every bit; `layers` finds the first layer that differs.

    Without inputs, random ones are taken, the same each time. With `labels`, the samples' classes, accuracy
    and confusion are told; with `expected`, outputs by name, how far the board's are from them.
    """
    line, data = _take_line(options), _take_data(options)
    known = _options(model, options)
    compiled = compile_for(_imported(model, known), load_board(board), known)
    facts, arrays = compiled.artifact.facts, None if inputs is None else _by_name(inputs)
    samples = make_data(arrays, data, facts.inputs, RANDOM_SAMPLES, Fill.RANDOM)
    truth = Truth(None if labels is None else np.asarray(labels), expected)
    require_truth(truth, len(samples), facts.outputs)
    return verify_model(compiled, samples, layers, toolchain, line, truth)


@takes_options(TUNING)
def tune(
    model: str | Path | Model,
    board: str,
    records: str | Path,
    trials: int = 300,
    tuner: str | None = None,
    on_trial: OnTrial = keep_silent,
    **choices: Any,
) -> Tuning:
    """Measures the model's kernels with other knobs on the board; every trial is kept in `records`.

    `on_trial(progress, record)` is called after each. More `choices`: fields of deploy.tuning.TuneChoices.
    """
    options = {name: choices.pop(name) for name in OPTIONS if name in choices}
    known, found = _options(model, options, TUNING), load_board(board)
    job = Job(_imported(model, known), found.target, known, board=found.name)
    how = TuneChoices(trials=trials, tuner=tuner, **choices)
    return tune_model(job, found, how, Path(records), lambda _: on_trial)


@takes_options()
def inspect(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    target: str | None = None,
    **options: Any,
) -> Inspection:
    """Says what a model holds and needs, and with a board or a target whether it fits.

    print() shows the page, as_json() gives its facts, layer(n) shows how a layer is computed.
    """
    if isinstance(model, Compiled):
        _require_same(model, board, options)
        return Inspection(model.report, model.board, model.job, model.model)
    known, found = _options(model, options), board_or_target(board, target)
    if isinstance(model, Model):
        return inspect_model(_imported(model, known), found, known)
    return inspect_file(Path(model), found, known)


def diff(one: str | Path | Compiled, other: str | Path | Compiled) -> ArchiveDifference:
    """Says what differs between two compiled models or archives; it is false where they are the same."""
    return ArchiveDifference(*(_artifact(each) for each in (one, other)))


def _artifact(model: str | Path | Compiled) -> Artifact:
    return model.artifact if isinstance(model, Compiled) else read_archive(Path(model))


@takes_options()
def in_process(model: str | Path | Model, **options: Any) -> HostModel:
    """Compiles the model's C for this machine and loads it; its `run` takes and gives arrays by name."""
    host = load_core("host").target()
    known = _options(model, options)
    job, _ = job_for(_imported(model, known), host, known)
    compiled = compile_or_explain(job)
    sources = compiled.sources
    key = hashlib.sha256(json.dumps([sorted(sources.items()), find_toolchain(host).version]).encode())
    name = f"{compiled.name}-library-{key.hexdigest()[:16]}"
    place = cached(name, lambda folder: _keep_nothing(build_library(sources, folder)))
    (library,) = place.glob("*.so")
    return HostModel(library, compiled.name)


def _keep_nothing(_library: HostModel) -> None:
    """Does nothing: the library was loaded from a folder that is about to be renamed."""


def _imported(model: str | Path | Model, options: CompileOptions) -> ImportedModel:
    """The loaded model; it is read again where these options give its file another meaning."""
    if isinstance(model, Model) and _reading(model.options) == _reading(options):
        return model.imported
    return import_model(model.path if isinstance(model, Model) else Path(model), options)


def _reading(options: CompileOptions) -> list[object]:
    """The options that decide what a model file means."""
    return [getattr(options, OPTIONS[name].field) for name in READING]


def _take_line(options: dict[str, Any]) -> LineOptions:
    """Takes the options that say how the board is reached out of the others."""
    require_known(options, {**OPTIONS, **DATA, **LINE})
    return read_given(LineOptions(), LINE, {name: options.pop(name) for name in LINE if name in options})


def _take_data(options: dict[str, Any]) -> DataOptions:
    """The same for those that say what inputs are."""
    return read_given(DataOptions(), DATA, {name: options.pop(name) for name in DATA if name in options})


def _options(
    model: str | Path | Model, given: Mapping[str, object], names: Collection[str] = OPTIONS
) -> CompileOptions:
    """The options given here, else those that the model was loaded with, else the defaults."""
    return read_options(given, model.options if isinstance(model, Model) else CompileOptions(), names)


def _prepared(
    model: str | Path | Model | Compiled, board: str | None, options: Mapping[str, object]
) -> Prepared:
    if isinstance(model, Compiled):
        _require_same(model, board, options)
        return prepare_compiled(model)
    known = _options(model, options)
    if isinstance(model, Model):
        imported = _imported(model, known)
        return prepare_compiled(compile_for(imported, named_board(board, model.path), known))
    return prepare(Path(model), board, known)


def _require_same(compiled: Compiled, board: str | None, options: Mapping[str, object]) -> None:
    """Refuses another board or options for a model that is compiled. Raises InputError, BoardError."""
    require_no_options(read_options(options), compiled.artifact.facts.source_name)
    if board is not None and load_board(board).name != compiled.board.name:
        raise BoardError(
            f'{compiled.artifact.name} is compiled for board "{compiled.board.name}", not for "{board}"',
            hint=f'compile it for that one: deploy.compile(model, board="{board}")',
        )


def _by_name(inputs: Inputs) -> Mapping[str, Array]:
    if isinstance(inputs, Mapping):
        return inputs
    arrays = [inputs] if isinstance(inputs, np.ndarray) else inputs
    return {f"input_{number}": array for number, array in enumerate(arrays)}
