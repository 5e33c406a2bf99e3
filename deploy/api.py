"""The commands as functions: what `import deploy` offers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Array, Graph
from aot.ir.types import TensorType
from aot.target import Target
from boards.load import load_board
from codegen.compile import compile_model
from codegen.model import Rounding
from codegen.tuning_records import read_records
from deploy.cache import cached
from deploy.compiling import Compiled, compile_for
from deploy.device import open_device
from deploy.firmware import Prepared, build, prepare, prepare_compiled
from deploy.inspecting import Inspection, inspect_file
from deploy.line import LineChoices
from deploy.measure import Meter, Spread, run_series, spread
from deploy.samples import RANDOM_SAMPLES, Samples, make_samples, random_samples
from deploy.settings import chosen, make_options
from deploy.tensors import Slot, graph_slots, remote_slots
from deploy.tuning import TuneChoices, Tuning, tune_model
from deploy.verifying import Verdict, verify_model
from platforms.base import BuildChoices
from platforms.shared_library import HostModel
from platforms.shared_library import build as build_library
from platforms.toolchains import find_toolchain
from platforms.tuning.search import OnTrial, keep_silent

Inputs = Mapping[str, Array] | Sequence[Array] | Array
_HOST = Target("host", pointer_bytes=8)


@dataclass(frozen=True)
class Model:
    """A model file that was read, and what it means."""

    path: Path
    graph: Graph = field(repr=False)
    rounding: str = Rounding.TFLM.value

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.inputs}

    @property
    def outputs(self) -> Mapping[str, TensorType]:
        return {name: self.graph.types[name] for name in self.graph.outputs}

    def run(self, inputs: Inputs) -> dict[str, Array]:
        """The outputs of one sample by name, computed by the reference."""
        samples = make_samples(_by_name(inputs), graph_slots(self.graph, self.graph.inputs), "inputs")
        return run_graph(self.graph, dict(zip(self.graph.inputs, samples.each[0], strict=True)))


@dataclass(frozen=True)
class Run:
    """What came back from a board."""

    outputs: Mapping[str, Array]  # by name; with an axis for the samples where the inputs had one
    unit: str  # "instructions", "cycles", or "" where the board counts neither
    count: Spread  # per run, in that unit
    seconds: Spread  # per run


def load(path: str | Path, rounding: str = "tflm") -> Model:
    """Reads a model file. Raises ModelError for what is not supported."""
    known = chosen(Rounding, "rounding", rounding).value
    return Model(Path(path), load_model(Path(path), known), known)


def compile(
    model: str | Path | Model,
    board: str,
    ram_bytes: int | None = None,
    optimize: str = "speed",
    rounding: str = "tflm",
    tuning_records: str | Path | None = None,
) -> Compiled:
    """C sources with a static memory plan for a board. `save(path)` writes the archive.

    Raises ModelError for what cannot be compiled, FitError for what has no room.
    """
    known = read_records(Path(tuning_records)) if tuning_records is not None else ()
    return compile_for(_path(model), load_board(board), make_options(optimize, rounding, ram_bytes), known)


def run(
    model: str | Path | Model | Compiled,
    inputs: Inputs,
    board: str | None = None,
    repeat: int = 1,
    toolchain: str | None = None,
    runner: str | None = None,
) -> Run:
    """Runs a model file, an archive, a project folder or a compiled model on a board; does what is missing.

    `inputs` are arrays by name, in order, or a single one; one more leading axis makes a series.
    """
    prepared = _prepared(model, board)
    arrays = _by_name(inputs)
    if prepared.inputs is not None:
        make_samples(arrays, prepared.inputs, "inputs")  # complains before anything is built
    ready = build(prepared, BuildChoices(toolchain))
    with open_device(ready, LineChoices(runner)) as device:
        samples = make_samples(arrays, remote_slots(device.model.inputs), "inputs")
        measured = run_series(device, samples, repeat, lambda _doing: None)
    meter = Meter(ready.board)
    names = [slot.name for slot in measured.slots]
    return Run(
        outputs=dict(zip(names, measured.stacked(samples).values(), strict=True)),
        unit=meter.unit,
        count=spread([meter.count(ticks) for ticks in measured.ticks]),
        seconds=spread([meter.seconds(ticks) for ticks in measured.ticks]),
    )


def verify(
    model: str | Path | Model,
    board: str,
    inputs: Inputs | None = None,
    layers: bool = False,
    toolchain: str | None = None,
    runner: str | None = None,
) -> Verdict:
    """Compares a board with the reference in every bit; `layers` finds the first layer that differs.

    Without inputs, random ones are taken, the same each time.
    """
    path = _path(model)
    rounding = model.rounding if isinstance(model, Model) else Rounding.TFLM.value
    compiled = compile_for(path, load_board(board), make_options("speed", rounding, None))
    slots = graph_slots(compiled.model.graph, compiled.model.graph.inputs)
    return verify_model(path, compiled, _samples(inputs, slots), layers, toolchain, LineChoices(runner))


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
    options = make_options("speed", model.rounding if isinstance(model, Model) else "tflm", None)
    how = TuneChoices(trials=trials, tuner=tuner, **choices)
    return tune_model(_path(model), load_board(board), options, how, Path(records), lambda _: on_trial)


def inspect(model: str | Path | Model | Compiled, board: str | None = None) -> Inspection:
    """What a model holds and needs, and with a board whether it fits. print() it, or take as_json()."""
    if isinstance(model, Compiled):
        return Inspection(model.report, model.board)
    options = make_options("speed", Rounding.TFLM.value, None)
    return inspect_file(_path(model), load_board(board) if board else None, options)


def in_process(model: str | Path | Model, rounding: str = "tflm") -> HostModel:
    """The model's C, compiled for this machine and loaded; its `run` takes and gives arrays by name."""
    compiled = compile_model(_path(model), _HOST, make_options("speed", rounding, None))
    sources = compiled.sources
    key = hashlib.sha256(json.dumps([sorted(sources.items()), find_toolchain(_HOST).version]).encode())
    name = f"{compiled.name}-library-{key.hexdigest()[:16]}"
    place = cached(name, lambda folder: _keep_nothing(build_library(sources, folder)))
    (library,) = place.glob("*.so")
    return HostModel(library, compiled.name)


def _keep_nothing(_library: HostModel) -> None:
    """It was loaded from a folder that is about to be renamed."""


def _path(model: str | Path | Model) -> Path:
    return model.path if isinstance(model, Model) else Path(model)


def _prepared(model: str | Path | Model | Compiled, board: str | None) -> Prepared:
    if isinstance(model, Compiled):
        return prepare_compiled(model)
    rounding = model.rounding if isinstance(model, Model) else Rounding.TFLM.value
    return prepare(_path(model), board, make_options("speed", rounding, None))


def _by_name(inputs: Inputs) -> Mapping[str, Array]:
    if isinstance(inputs, Mapping):
        return inputs
    arrays = [inputs] if isinstance(inputs, np.ndarray) else inputs
    return {f"input_{number}": array for number, array in enumerate(arrays)}


def _samples(inputs: Inputs | None, slots: Sequence[Slot]) -> Samples:
    if inputs is None:
        return random_samples(slots, RANDOM_SAMPLES)
    return make_samples(_by_name(inputs), slots, "inputs")
