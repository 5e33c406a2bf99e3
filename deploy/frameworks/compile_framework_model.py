"""Compiles a framework's model in one call: export, quantization, compilation, accuracy."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from aot.errors import InputError, MissingToolError, ModelError, OutputError
from aot.frontend.load import is_tflite
from aot.interpret import run_graph, run_series
from aot.ir.graph import Graph, State
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array, DType
from aot.wording import counted
from artifact.whole_file import write_whole
from boards.board import Board
from codegen.job import ImportedModel, import_data
from codegen.options import CompileOptions
from deploy.benchmark.meter import emulated_board
from deploy.cli.command_result import Paged
from deploy.cli.console import table
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from deploy.frameworks.framework import Framework, FrameworkModel, ModuleOptions
from deploy.frameworks.judging import Judgement, is_quantized, judge
from deploy.inputs.data_doubts import calibration_doubts, chance_doubts
from deploy.inputs.given_arrays import is_loader, joined, plain, with_labels
from deploy.inputs.samples import make_samples
from deploy.quantization.activation_widths import WIDE, wider_of
from deploy.quantization.calibration import Calibration, make_calibration
from deploy.quantization.model_outputs import decibels, noise_of
from deploy.quantization.narrow_saving import NarrowSaving, Place, with_less_flash
from deploy.quantization.onnx_quantizer import Quantized, as_onnx, quantize
from deploy.quantization.refined_weights import Refinement
from deploy.quantization.weight_widths import Bound
from deploy.verification.oracles import NO_ORACLE
from deploy.verification.quality import Truth, is_of_classes
from deploy.verification.verify_model import Verdict, verify_model
from platforms.base import BuildChoices

_WORST = 5  # number of layers shown


@dataclass(frozen=True, repr=False)
class Conversion(Paged):
    """The effects of a conversion: export error, loss by quantization, accuracy on a board."""

    framework: str
    judgement: Judgement  # of the exported model
    quantized: Quantized | None  # if there were calibration samples
    narrow: NarrowSaving | None  # if four-bit weights were requested
    framework_right: float | None  # fraction of the samples, if there are labels
    verdict: Verdict | None  # of the emulated board, if there are labels and it can be built here
    warnings: tuple[str, ...] = ()  # about the samples
    reference_right: float | None = None  # fraction of the samples, if there are labels but no verdict
    not_on_board: str = ""  # why there is no verdict, if there are labels
    macs_in_floats: Mapping[str, float] = field(default_factory=dict)  # by op, as fractions of all; if int8

    @property
    def distance(self) -> float:
        """The largest distance between the framework's outputs and those of the exported model."""
        return self.judgement.distance

    @property
    def board_right(self) -> float | None:
        """The fraction of samples that the emulated board classifies correctly."""
        return None if self.verdict is None or self.verdict.accuracy is None else self.verdict.accuracy.board

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        kind = "float" if self.quantized is None else "int8"
        return f"<conversion from {self.framework}: {kind}, {self.distance:.2g} away at most>"

    def _lines(self) -> Iterator[str]:
        yield (
            f"exported      outputs differ from {self.framework}'s by {self.distance:.2g} at most, "
            f"{counted(self.judgement.inputs, 'input')} (allowed: {self.judgement.limit:.1%} of the largest)"
        )
        if self.quantized is not None:
            yield f"quantized     int8, {self.quantized.float_bytes:,} -> {len(self.quantized.data):,} bytes"
            if self.macs_in_floats:
                share, ops = sum(self.macs_in_floats.values()), ", ".join(self.macs_in_floats)
                yield f"floats        {share:.1%} of the multiplications stay in floats: {ops}"
            yield from _refined(self.quantized)
            if self.quantized.sequence_db is not None:
                names = ", ".join(f"{name} {kind}" for name, kind in self.quantized.states.items())
                yield f"states        {names}; outputs, signal to noise: {self.quantized.sequence_db:.1f} dB"
            if not self.quantized.layers:
                (way,) = self.quantized.refinements
                yield f"              {way.name}; outputs, signal to noise: {way.signal_to_noise_db:.1f} dB"
            if self.narrow is not None:
                yield str(self.narrow)
            yield from _widened(self.quantized)
            if self.quantized.same_class is not None:
                yield f"same class    {self.quantized.same_class:.1%} of the calibration samples, as float"
        if self.framework_right is not None:
            yield f"right         {self.framework_right:.1%} in {self.framework}, of the calibration samples"
        if self.verdict is not None and self.verdict.accuracy is not None:
            accuracy = self.verdict.accuracy
            yield f"              {accuracy.reference:.1%} by the reference here"
            bits = "the same bits" if self.verdict.equal else "OTHER BITS"
            yield f"              {accuracy.board:.1%} on {self.verdict.board}, {bits}"
            yield "              (for other samples: deploy.verify with inputs and labels)"
        elif self.not_on_board:
            yield f"              {self.reference_right or 0:.1%} by the reference here"
            yield f"              not run on a board: {self.not_on_board}"
        yield from (f"warning: {each}" for each in self.warnings)
        if self.quantized is not None and self.quantized.layers:
            worst = sorted(self.quantized.layers, key=lambda layer: layer.signal_to_noise_db)[:_WORST]
            rows = [(each.value, each.op, f"{each.signal_to_noise_db:.1f}") for each in worst]
            yield "\n" + table(("layer, the worst first", "op", "signal to noise, dB"), rows)


def _refined(made: Quantized) -> Iterator[str]:
    """Reports the improvement by modified weights, if there is any."""
    if made.refined is not None:
        before, after = made.refinements[0].signal_to_noise_db, made.refined.signal_to_noise_db
        yield f"refined       {made.refined.name}; outputs, signal to noise: {before:.1f} -> {after:.1f} dB"


def _widened(made: Quantized) -> Iterator[str]:
    if made.widened is not None:
        found = made.widened
        wide = sum(each.bits == WIDE for each in found.activations)
        yield (
            f"activations   of 16 bits in {wide} of {counted(len(found.activations), 'value')}; outputs, "
            f"signal to noise: {found.int8_db:.1f} -> {found.signal_to_noise_db:.1f} dB"
        )


@dataclass(frozen=True, repr=False)
class CompiledModule(Compiled):
    """A framework's model that fits its board, with the effects of its conversion."""

    conversion: Conversion | None = None

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.conversion}"

    def save(self, path: str | Path) -> None:
        """Writes an archive, plain sources if `path` is a folder, or the exported and quantized model.

        The model's file is ONNX or TFLite, as it was compiled; other tools, such as Netron, show it.
        """
        place, data = Path(path), self.job.model.file
        suffix, other = (".tflite", ".onnx") if is_tflite(data) else (".onnx", ".tflite")
        if place.suffix == other:
            raise OutputError(
                f"the model that was compiled is in the format {suffix}, not {other}",
                str(place),
                f'save("{place.with_suffix(suffix)}")',
            )
        if place.suffix == suffix:
            write_whole(place, data)
        else:
            super().save(place)


def compile_module(
    model: Any, framework: Framework, words: ModuleOptions, board: Board, options: CompileOptions
) -> CompiledModule:
    """Compiles a framework's model. Raises InputError, ToolError, ModelError, FitError."""
    words = replace(words, example=framework.own_examples(model) if words.example is None else words.example)
    _require_sense(framework, words, options)
    opened = framework.open(model, words.example if isinstance(words.example, tuple) else (words.example,))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / framework.file
        path.write_bytes(opened.exported())
        with _told_where(opened):
            as_float = import_data(path.read_bytes(), path, replace(options, front=None, back=None))
        specs = graph_specs(as_float.graph, as_float.graph.inputs)
        samples = make_calibration(_arrays(opened, words), specs, "calibration")
        judgement = judge(opened, framework.name, as_float.graph, samples.samples)
        outputs = opened.outputs_in_sequence(samples.samples)
        _require_classes(samples, outputs)
        is_done = words.calibration is None or is_quantized(as_float.graph)
        _require_float(opened, is_done, words)
        _require_onnx_states(opened, is_done, as_float)
        made, narrow = None, None
        if not is_done:
            made, narrow = _quantized(opened, (path, board, options), samples, words, as_float.graph.states)
    imported = import_data(as_float.file if made is None else made.data, path, options)
    compiled = compile_for(imported, board, options)
    verdict, lack = (None, "") if samples.labels is None else _on_emulator(compiled, samples)
    conversion = Conversion(
        framework.name,
        judgement,
        made,
        narrow,
        _share_right(outputs, samples.labels),
        verdict,
        _doubts(opened, framework, words, samples, outputs),
        _reference_right(imported, samples) if lack else None,
        lack,
        {} if made is None else _macs_in_floats(compiled.model.graph),
    )
    known = {each.name: getattr(compiled, each.name) for each in fields(compiled)}
    return CompiledModule(**known, conversion=conversion)


def _doubts(
    opened: FrameworkModel,
    framework: Framework,
    words: ModuleOptions,
    samples: Calibration,
    outputs: Sequence[Sequence[Array]],
) -> tuple[str, ...]:
    """Returns warnings about the calibration samples, if there are any."""
    if words.calibration is None:
        return ()
    arrays = [np.asarray(each) for each in opened.examples]
    names = list(samples.samples[0])
    example = dict(zip(names, arrays, strict=True)) if len(arrays) == len(names) else None
    right = _share_right(outputs, samples.labels)
    chance = chance_doubts(right, outputs[0][0].shape[-1] if right is not None else 0, framework.name)
    return (*calibration_doubts(samples.samples, example), *chance)


def _require_float(opened: FrameworkModel, is_done: bool, words: ModuleOptions) -> None:
    """Raises InputError for quantization options if the framework has already quantized the model."""
    if is_done and (words.signal_to_noise or words.activation_type) is not None:
        raise InputError(
            "the model is already quantized, so its widths are fixed",
            opened.name,
            "omit signal_to_noise and activation_type, or give the float model",
        )


def _require_onnx_states(opened: FrameworkModel, is_done: bool, model: ImportedModel) -> None:
    """Raises InputError for calibration samples if a TFLite model keeps states between them."""
    if not is_done and model.graph.states and is_tflite(model.file):
        names = ", ".join(state.name for state in model.graph.states)
        raise InputError(
            f"a TFLite model with states ({names}) is not quantized: its file declares no integer states",
            opened.name,
            "omit calibration: the model stays float32",
        )


def _require_classes(samples: Calibration, outputs: Sequence[Sequence[Array]]) -> None:
    """Raises InputError for labels if the outputs are not rows of class scores."""
    shapes = [each[0].shape for each in outputs]
    if samples.labels is not None and not all(is_of_classes(shape) for shape in shapes):
        raise InputError(
            "labels need a row of scores, one for each class, but the first output has shape "
            f"{list(shapes[0])}",
            hint="omit the labels",
        )


@contextmanager
def _told_where(opened: FrameworkModel) -> Iterator[None]:
    """Adds the location in the user's program to an error about the exported model."""
    try:
        yield
    except ModelError as error:
        place = opened.place_of(str(error))
        error.where = "\n".join(filter(None, (error.where, ", ".join(filter(None, (opened.name, place))))))
        raise


def _quantized(
    opened: FrameworkModel,
    place: Place,
    samples: Calibration,
    words: ModuleOptions,
    states: Sequence[State],
) -> tuple[Quantized, NarrowSaving | None]:
    """Quantizes the exported model to int8, with four-bit weights or 16-bit values if requested."""
    least_db, (path, board, options) = words.signal_to_noise, place
    wider = wider_of(
        words.activation_type or "int8", least_db, False, 'activation_type="mixed", signal_to_noise=40'
    )
    if wider is None and least_db is None:
        data = opened.in_integers(samples.samples)
        if data is not None:
            return _measured(path, data, samples), None
    with as_onnx(path) as file:
        if wider is not None or least_db is None:
            return quantize(file, samples, "minmax", {}, refine=True, wider=wider, states=states), None
        bound = Bound(signal_to_noise_db=least_db)
        made = quantize(file, samples, "minmax", {}, "mixed", bound, refine=True, states=states)
        if not made.widths:
            return made, None
        return with_less_flash(made, (file, board, options), samples, least_db, states)


def _measured(path: Path, data: bytes, samples: Calibration) -> Quantized:
    """Measures the loss of a framework's own quantization relative to the float file."""
    as_float, as_int8 = (import_data(each, path, CompileOptions()) for each in (path.read_bytes(), data))
    outputs = [
        [list(run_graph(each.graph, sample).values()) for sample in samples.samples]
        for each in (as_float, as_int8)
    ]
    real, integer = ([np.argmax(each[0]) for each in found] for found in outputs)
    flat = [[np.asarray(array, np.float64) for each in found for array in each] for found in outputs]
    is_row = all(is_of_classes(each[0].shape) for each in outputs[0])
    return Quantized(
        data,
        path.stat().st_size,
        layers=(),
        same_class=float(np.mean(np.equal(real, integer))) if is_row else None,
        float_right=_share_right(outputs[0], samples.labels),
        int8_right=_share_right(outputs[1], samples.labels),
        refinements=(Refinement("by LiteRT's converter", decibels(noise_of(*flat)), is_kept=True),),
    )


def _require_sense(framework: Framework, words: ModuleOptions, options: CompileOptions) -> None:
    if words.example is None:
        article = "an" if framework.thing[0] in "aeiou" else "a"
        raise InputError(
            f"{article} {framework.thing} of {framework.name} is exported with an example of its input",
            hint=f"deploy.compile({framework.thing}, board=..., example={framework.example})",
        )
    if isinstance(words.example, tuple | list) and all(isinstance(each, int) for each in words.example):
        raise InputError(
            f"the example is numbers, {words.example}, but an input is needed, not its shape",
            "example",
            f"example={framework.example}, with your shape",
        )
    if (words.signal_to_noise or words.activation_type) is not None and words.calibration is None:
        raise InputError(
            "signal to noise needs calibration samples",
            hint="pass calibration=samples (the first axis counts them)",
        )
    if words.labels is not None and words.calibration is None:
        raise InputError(
            "labels need calibration samples",
            hint="pass calibration=samples (the first axis counts them)",
        )
    if words.labels is not None and (options.front or options.back):
        raise InputError(
            "labels are compared with the module's outputs, which a front or back end changes",
            hint="omit the labels, or the front and back end",
        )


def _arrays(opened: FrameworkModel, words: ModuleOptions) -> dict[str, Array]:
    """Returns the samples by input name, with labels; without calibration only the example."""
    calibration, labels, names = words.calibration, words.labels, opened.inputs
    if calibration is None:
        given: Mapping[str, Any] = dict(zip(names, opened.examples, strict=True))
    else:
        given = _by_input(calibration, opened)
    arrays = {name: plain(array) for name, array in given.items()}
    if calibration is not None:
        _require_one_input(arrays, dict(zip(names, map(np.shape, opened.examples), strict=False)))
    return with_labels(arrays, labels)


def _require_one_input(samples: Mapping[str, Array], examples: Mapping[str, tuple[int, ...]]) -> None:
    """Raises InputError if the example is a batch of what the samples are."""
    for name, (batch, *sizes) in ((name, shape) for name, shape in examples.items() if shape):
        if batch > 1 and name in samples and samples[name].shape[1:] == (*sizes,):
            raise InputError(
                f"the example is a batch of {batch}, but each sample of the calibration is one input",
                "example",
                "give an example with a batch of 1: example=samples[:1]",
            )


def _by_input(calibration: Any, opened: FrameworkModel) -> Mapping[str, Any]:
    """Returns the samples of each input: from a dict, a loader, an array, or a list.

    A list has an array for each input, as Keras takes them, or else the samples of the first input.
    """
    if is_loader(calibration):
        return joined(calibration)
    if isinstance(calibration, Mapping):
        return {opened.input_names.get(name, name): array for name, array in calibration.items()}
    if not isinstance(calibration, list | tuple):
        return {opened.inputs[0]: calibration}
    arrays = [*map(plain, calibration)]
    shapes = [array.shape for array in arrays]
    wanted = [tuple(np.shape(each)) for each in opened.examples]
    if len(wanted) > 1 and [shape[1:] for shape in shapes] == [shape[1:] for shape in wanted]:
        return dict(zip(opened.inputs, arrays, strict=True))
    if len(set(shapes)) > 1:
        needed = ", ".join(f"{name} {list(s)}" for name, s in zip(opened.inputs, wanted, strict=False))
        raise InputError(
            f"the list has arrays of different shapes: {', '.join(str(list(shape)) for shape in shapes[:4])}",
            "calibration",
            f"give samples of one shape, or an array for each input, whose first axis counts them: {needed}",
        )
    return {opened.inputs[0]: np.stack(arrays) if arrays else arrays}


def _share_right(outputs: Sequence[Sequence[Array]], labels: Array | None) -> float | None:
    first = [each[0] for each in outputs]
    if labels is None or not all(is_of_classes(output.shape) for output in first):
        return None
    return float(np.mean([int(np.argmax(output)) for output in first] == labels))


def _macs_in_floats(graph: Graph) -> dict[str, float]:
    """Returns the fractions of multiplications that a quantized model computes in floats, by op."""
    floats: Counter[str] = Counter()
    total = 0
    for node in graph.nodes:
        outputs = graph.output_types(node)
        macs = node.op.cost(graph.input_types(node), outputs).macs
        total += macs
        floats[node.op.name] += macs if outputs[0].dtype is DType.F32 else 0
    return {name: macs / total for name, macs in floats.most_common() if macs}


def _reference_right(model: ImportedModel, samples: Calibration) -> float | None:
    outputs = [[*each.values()] for each in run_series(model.graph, samples.samples)]
    return _share_right(outputs, samples.labels)


def _on_emulator(compiled: Compiled, samples: Calibration) -> tuple[Verdict | None, str]:
    """Compares this machine or an emulated board with the reference, or returns the program it lacks."""
    is_here = compiled.board.core.machine == "host"
    here = compiled if is_here else replace(compiled, board=emulated_board(compiled.board))
    arrays = {name: np.stack([sample[name] for sample in samples.samples]) for name in samples.samples[0]}
    given = make_samples(arrays, compiled.artifact.facts.inputs, "calibration")
    try:
        ready = prepare_compiled(here)
        truth = Truth(samples.labels)
        return verify_model(ready, given, False, BuildChoices(), LineOptions(), truth, NO_ORACLE), ""
    except MissingToolError as error:  # the model is compiled all the same
        return None, "; ".join(filter(None, f"{error.what}\n{error.where}\n{error.hint}".splitlines()))
