"""The commands that run a model on a board, as Python functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.ir.types import Array
from codegen.option_entry import read_given
from codegen.options import OPTIONS, CompileOptions
from deploy.benchmark.baseline_changes import (
    LIMIT_PERCENT,
    changes_page,
    changes_since,
    read_baseline,
    require_cases,
)
from deploy.benchmark.bench_model import BenchChoices, Modelled, measure
from deploy.benchmark.bench_page import bench_page
from deploy.benchmark.meter import Meter, Spread, emulated_board, spread
from deploy.benchmark.run_series import Measured, run_series
from deploy.cli.command_result import Answer, Paged
from deploy.cli.console import OnProgress, reports_progress
from deploy.cli.renamed import renamed
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection_options import LINE, LineOptions
from deploy.devices.firmware import Prepared, on_emulator, ready_for, require_emulated_platform, with_archive
from deploy.devices.session import open_device
from deploy.inputs.given_arrays import Inputs, by_name, only_inputs, plain, without_labels
from deploy.inputs.input_options import DATA, Fill, make_data
from deploy.inputs.quantized_values import dequantized
from deploy.inputs.samples import RANDOM_RUNS, RANDOM_SAMPLES, Samples
from deploy.inputs.size_choice import at_size_of
from deploy.python_api.board_arguments import data_arguments, job_of, line_arguments, prepared_of
from deploy.python_api.model import Model
from deploy.python_api.option_keywords import TUNING, accepts_options
from deploy.tuner.tune_model import TuneChoices, Tuning, tune_model
from deploy.verification.oracles import known_oracle
from deploy.verification.quality import Truth
from deploy.verification.verify_model import Verdict, require_graph, verify_model, verify_sizes
from platforms.base import BuildChoices
from platforms.tuning.search import OnTrial, keep_silent


@dataclass(frozen=True)
class Run(Paged):
    """The outputs and times of a run on a board."""

    outputs: Mapping[str, Array]  # by name; with a sample axis if the inputs have one
    unit: str  # "instructions", "cycles", or "" if the board counts neither
    count: Spread  # per run, in that unit
    seconds: Spread | None  # per run; None on an emulated board, where instructions have no fixed duration

    def __str__(self) -> str:
        costs = [f"{self.count.mean:,.0f} {self.unit}"] if self.unit else []
        costs += [f"{self.seconds.mean * 1e3:,.4g} ms"] if self.seconds else []
        outputs = (f"{name} {array.dtype}{list(array.shape)}" for name, array in self.outputs.items())
        return f"{', '.join(outputs)} in {', '.join(costs)}"

    def __repr__(self) -> str:
        return f"<{self}>"


@accepts_options([*OPTIONS, *DATA, *LINE])
@reports_progress
def run(
    model: str | Path | Model | Compiled,
    inputs: Inputs | None = None,
    board: str | None = None,
    repeat: int = 1,
    toolchain: str | None = None,
    platform: str | None = None,
    dequantize: bool = False,
    emulated: bool = False,
    model_name: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Run:
    """Runs a model file, an archive, a project or a compiled model on a board; compiles and builds if needed.

    `inputs` are arrays by name, in order, or a single one; a batch, or one extra leading axis, is a series of
    samples. `quantize` converts float inputs to the model's integers, `dequantize` outputs to floats.
    `emulated` emulates the core of a board that is not here. `platform` selects the platform to build for;
    the default is the board's first one that builds on this computer. `model_name` selects one of several
    models of a project; the default is the first.
    """
    line, data = line_arguments(options), data_arguments(options)
    arrays = None if inputs is None else only_inputs(inputs)
    prepared = at_size_of(prepared_of(model, board, options), arrays)
    prepared = on_emulator(prepared, platform) if emulated else prepared
    prepared = prepared.for_model(model_name) if model_name else prepared
    if prepared.inputs is not None:
        make_data(arrays, data, prepared.inputs, 1)  # checks the inputs before building
    ready = ready_for(prepared, BuildChoices(toolchain, platform=platform), line.runner)
    with open_device(ready, line) as device:
        samples = make_data(arrays, data, prepared.inputs or device.model.inputs, 1)
        measured = run_series(device, samples, repeat)
    return run_of(Meter(device.board), prepared, samples, measured, dequantize)


def run_of(meter: Meter, prepared: Prepared, samples: Samples, measured: Measured, dequantize: bool) -> Run:
    """Returns the measurements in the board's unit, and the outputs by name."""
    names = [spec.name for spec in measured.specs]
    outputs = dict(zip(names, measured.stacked(samples).values(), strict=True))
    return Run(
        outputs=dequantized(outputs, prepared.outputs or measured.specs) if dequantize else outputs,
        unit=meter.unit,
        count=spread([meter.count(ticks) for ticks in measured.ticks]),
        seconds=None if meter.unit == "instructions" else spread([*map(meter.seconds, measured.ticks)]),
    )


@accepts_options([*OPTIONS, *DATA, *LINE])
@reports_progress
def verify(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    inputs: Inputs | None = None,
    layers: bool = False,
    toolchain: str | None = None,
    platform: str | None = None,
    labels: Array | None = None,
    expected: Mapping[str, Array] | None = None,
    oracle: str | None = None,
    emulated: bool = False,
    model_name: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Verdict:
    """Compares a board's outputs with the reference bit for bit.

    The model may be a file, an archive, a project or a compiled model. `layers` also finds the first layer
    that differs. Without inputs, uses random ones, the same each time; a model with states runs a sequence of
    them. With `labels`, the classes of the samples, next to the inputs or among them, the verdict has
    accuracy and confusion; with `expected`, outputs by name, their distance. An `oracle` ("litert", "tflm",
    "ort" or "none") is another runtime to compare with, by default the installed one that has the model's
    rounding. `emulated` emulates the core of a board that is not here. `model_name` selects one of several
    models of a project; the default is the first.
    """
    line, data = line_arguments(options), data_arguments(options)
    arrays = None if inputs is None else by_name(inputs)
    if arrays is not None:
        arrays, labels = without_labels(arrays, labels)
    truth = Truth(None if labels is None else plain(labels), expected)
    judge = known_oracle(oracle)
    prepared = with_archive(prepared_of(model, board, options, compile_for))
    prepared = on_emulator(prepared, platform) if emulated else prepared
    if model_name:
        require_graph(prepared)
        prepared = prepared.for_model(model_name)
    build = BuildChoices(toolchain, platform=platform)
    count = RANDOM_RUNS if prepared.keeps_state else RANDOM_SAMPLES
    return verify_sizes(
        prepared,
        arrays,
        lambda specs: make_data(arrays, data, specs, count, Fill.RANDOM),
        lambda at, samples: verify_model(at, samples, layers, build, line, truth, judge),
        truth,
    )


@accepts_options([*OPTIONS, *LINE])
@renamed(against="baseline", repeat="median_of", emulate="emulated")
@reports_progress
def bench(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    median_of: int = 3,
    layers: bool = False,
    emulated: bool = False,
    clock: int | None = None,
    compare: bool = False,
    baseline: str | Path | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    worse: float = LIMIT_PERCENT,
    toolchain: str | None = None,
    platform: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Answer:
    """Measures a model on a board: instructions, cycles, time, RAM, stack and flash; with `layers`, of each.

    The model may be a file, an archive, a project or a compiled model. Each time is the median of `median_of`
    runs.
    `emulated` emulates a board that is not here, at `clock` Hz if given, and estimates its cycles. `compare`
    shows how far the cycle model is off for a measured board. With a `baseline`, earlier facts or a file of
    them, the result's "changes" list what differs and what is more than `worse` percent worse.
    """
    line = line_arguments(options)
    prepared = prepared_of(model, board, options)
    prepared = on_emulator(prepared, platform, clock) if emulated else prepared
    modelled = Modelled.ALL if compare else Modelled.EMULATED
    build = BuildChoices(toolchain, platform=platform)
    choices = BenchChoices(CompileOptions(), build, line, median_of, layers, modelled)
    seconds = prepared.compiled.seconds if prepared.compiled else None
    cost = measure(prepared, seconds, choices)
    facts = cost.as_json()
    if baseline is None:
        return Answer(facts, bench_page([cost]))
    cases = (
        read_baseline(Path(baseline))
        if isinstance(baseline, str | Path)
        else require_cases(baseline, "baseline")
    )
    changes = changes_since(cases, [facts], worse / 100)
    return Answer(facts | {"changes": changes.as_json()}, changes_page(changes))


@accepts_options([*TUNING, "runner", "serial", "port"])
@renamed(repeat="median_of")
@reports_progress
def tune(
    model: str | Path | Model | Compiled,
    board: str | None,
    records: str | Path,
    trials: int = 300,
    tuner: str | None = None,
    tasks: str = "",
    early_stop: int | None = None,
    number: int | None = None,
    median_of: int | None = None,
    timeout: float = 10.0,
    prior: str | Path | None = None,
    seed: int = 0,
    candidates_in: str = "auto",
    farm: str | None = None,
    toolchain: str | None = None,
    on_trial: OnTrial = keep_silent,
    keep_constants: bool = False,
    objective: str | None = None,
    platform: str | None = None,
    emulated: bool = False,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Tuning:
    """Measures the model's kernels with other knobs on the board; every trial is kept in `records`.

    The model may be a file, an archive, a project or a compiled model; all but a file have a board, and then
    `board` may be None. `emulated` emulates the core of a board that is not here.

    `on_trial(progress, record)` is called after each trial. With `keep_constants`, candidates that need more
    flash for constants than the default are skipped. `candidates_in` selects how candidates are loaded: into
    the "ram" of running firmware, or as an "image" of many. `objective` is "cycles", "instructions" or
    "size".
    """
    line = read_given(LineOptions(), LINE, {name: options.pop(name) for name in LINE if name in options})
    job, found = job_of(model, board, options)
    if emulated:
        found = emulated_board(found)
        require_emulated_platform(found, platform)
    how = TuneChoices(
        trials=trials,
        tuner=tuner,
        tasks=tasks,
        early_stop=early_stop,
        number=number,
        repeat=median_of,
        timeout_s=timeout,
        prior=None if prior is None else Path(prior),
        seed=seed,
        toolchain=toolchain,
        platform=platform,
        runner=line.runner,
        where=line.where,
        candidates_in=candidates_in,
        farm=farm,
        keep_constants=keep_constants,
        objective=objective,
    )
    return tune_model(job, found, how, Path(records), lambda _: on_trial)
