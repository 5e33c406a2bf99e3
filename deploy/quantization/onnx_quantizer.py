"""Converts float ONNX models to int8 with ONNX Runtime's static quantizer, and measures the loss.

Weights are symmetric with a scale per channel; activations have one scale and a zero point. This is the
format of the integer kernels.
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import MissingToolError, ModelError, ToolError
from aot.frontend.load import is_tflite, parse_model, read_file, read_model, require_onnx
from aot.frontend.onnx.float_layers import layer_weights, narrowed
from aot.frontend.onnx.float_model import float_model, require_float, with_vector_biases
from aot.frontend.onnx.integer_edges import Edge, with_integer_edges, with_integer_states
from aot.frontend.onnx.write import write_onnx
from aot.ir.graph import State
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType, TensorType
from aot.wording import counted
from deploy.cli.console import progress
from deploy.quantization.activation_widths import Widened, Wider, widen
from deploy.quantization.calibration import Calibration
from deploy.quantization.model_outputs import (
    answers_of,
    classes_of,
    decibels,
    in_sequence,
    noise_of,
    outputs_of,
)
from deploy.quantization.refined_weights import WAYS, Refinement, ways
from deploy.quantization.weight_widths import NARROW, WIDE, Bound, LayerWeights

Shapes = Mapping[str, tuple[int, ...]]  # by input name
WEIGHTS = ("int8", "int4", "mixed")
METHODS = {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}
_ORT_TYPES = {"tensor(float)": DType.F32, "tensor(int32)": DType.I32, "tensor(int64)": DType.I64}
_MOST_COMPARED = 32  # samples for which all activations are held in memory
_LEAST_OPSET = 13  # older versions have only per-tensor scales
_ERRORS_ONLY = 3  # a log level of ONNX Runtime


@dataclass(frozen=True, slots=True)
class LayerError:
    """The distance between an activation of the int8 model and the float model."""

    value: str
    op: str
    signal_to_noise_db: float
    largest: float
    largest_of_range: float  # 0..1


@dataclass(frozen=True, slots=True)
class LayerWidth:
    """The width of a layer's weights, and the loss if only these have four bits."""

    value: str
    weights: str  # name of the constant
    op: str
    bits: int
    bytes: int  # with two four-bit weights per byte, which not every kernel stores
    signal_to_noise_db: float
    node: str


@dataclass(frozen=True, slots=True, repr=False)
class Quantized:
    """An int8 model, and its loss relative to the float model."""

    data: bytes
    float_bytes: int
    layers: tuple[LayerError, ...]
    same_class: float | None  # fraction of the samples; None if the first output is not a row of classes
    float_right: float | None  # fraction, if there are labels
    int8_right: float | None
    edges: tuple[Edge, ...] = ()  # integer inputs and outputs
    widths: tuple[LayerWidth, ...] = ()  # of weights that may have four bits, if requested
    widened: Widened | None = None  # if values may have 16 bits
    refinements: tuple[Refinement, ...] = ()  # variants tried, if requested; the first is unchanged
    states: Mapping[str, str] = field(default_factory=dict)  # their element types by name
    sequence_db: float | None = None  # signal to noise of outputs over the samples, with its own states

    def __repr__(self) -> str:
        return f"<int8 model of {len(self.data):,} bytes, {self.float_bytes:,} in float>"

    @property
    def refined(self) -> Refinement | None:
        """The variant that was kept, or None if the unchanged model was best."""
        return next((each for each in self.refinements[1:] if each.is_kept), None)


@contextmanager
def as_onnx(path: Path) -> Iterator[Path]:
    """Yields the file, or for a TFLite model with floats the same model as ONNX. Raises ModelError."""
    data = read_model(path)
    if not is_tflite(data):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / f"{path.stem}.tflite"  # the name in messages
        written.write_bytes(write_onnx(parse_model(data, path.name), path.name))
        yield written


def model_specs(path: Path, shapes: Shapes) -> tuple[TensorSpec, ...]:
    """Returns the inputs of a float ONNX model with these shapes; an open batch size becomes 1."""
    data = read_file(path)
    require_onnx(data, path.name)  # reports problems in this project's terms
    require_float(data, path.name)
    with _sessions() as open_session:
        entries = open_session(path).get_inputs()
    names = [entry.name for entry in entries]
    for name in shapes:
        if name not in names:
            raise ModelError(f'there is no input "{name}"', path.name, f"inputs: {', '.join(names)}")
    return tuple(_spec(entry, shapes.get(entry.name), path) for entry in entries)


def quantize(
    path: Path,
    calibration: Calibration,
    method: str,
    shapes: Shapes,
    weights: str = WEIGHTS[0],
    bound: Bound | None = None,
    refine: bool = False,
    wider: Wider | None = None,
    states: Sequence[State] = (),
) -> Quantized:
    """Quantizes a float model with these input shapes. Mixed weight widths need a bound.

    With `wider`, values get 16 bits. With `refine`, modified weights for the same function are tried, and the
    best variant is kept. Raises ModelError if the model cannot be read or its weights exceed the bound, and
    ToolError if ONNX Runtime is missing or fails. With states, samples follow each other, and the file
    declares the states.
    """
    if states:
        calibration = _samples_in_sequence(path, calibration, states)
    with tempfile.TemporaryDirectory() as name, _sessions() as open_session:
        prepared, int8 = Path(name) / "float.onnx", Path(name) / "int8.onnx"
        float_bytes = float_model(read_model(path), _LEAST_OPSET, path.name, shapes)
        _prepare(float_bytes, path, prepared)
        widths = () if weights == WEIGHTS[0] else _widths(prepared, calibration, bound, open_session)
        tried = _quantize_files(
            path, (prepared, int8), calibration, method, _narrow(widths), open_session, refine
        )
        samples = calibration.samples[:_MOST_COMPARED]
        in_16_bits = None if wider is None else widen(prepared, int8, samples, wider, open_session)
        with progress("comparing", 2) as bar:
            bar.step("each value")
            layers = _layer_errors(prepared, int8, samples, Path(name))
            bar.step("outputs")
            real = classes_of(open_session(prepared), calibration.samples)
            integer = classes_of(open_session(int8), calibration.samples)
        made = Quantized(
            int8.read_bytes(),
            prepared.stat().st_size,
            layers,
            None if real is None or integer is None else float((real == integer).mean()),
            _share_right(real, calibration.labels),
            _share_right(integer, calibration.labels),
            widths=widths,
            widened=in_16_bits,
            refinements=tried,
        )
    return _with_kept_states(made, path, calibration, states) if states else made


def with_integers_outside(made: Quantized, path: Path, states: Sequence[State] = ()) -> Quantized:
    """Changes the model's inputs and outputs to integers; states keep their types."""
    floats = {name for each in states for name in (each.name, each.next)}
    data, edges = with_integer_edges(made.data, path.name, floats)
    return replace(made, data=data, edges=edges)


def _samples_in_sequence(path: Path, calibration: Calibration, states: Sequence[State]) -> Calibration:
    """Returns the samples with the states that the float model has when they follow each other."""
    with _sessions() as open_session, _failures_named(path):
        runs = in_sequence(open_session(path), calibration.samples, states)
        return Calibration(tuple(given for given, _ in runs), calibration.labels)


def _with_kept_states(
    made: Quantized, path: Path, calibration: Calibration, states: Sequence[State]
) -> Quantized:
    """Declares the states, stores those in integers that can be, and measures the loss over the samples."""
    data, stored = with_integer_states(made.data, states)
    with tempfile.TemporaryDirectory() as name, _sessions() as open_session:
        place = Path(name) / "int8.onnx"
        place.write_bytes(data)
        noise = noise_of(
            _outputs_in_sequence(open_session(path), calibration, states),
            _outputs_in_sequence(open_session(place), calibration, stored),
        )
    types = {each.name: str(each.initial.dtype) for each in stored}
    return replace(made, data=data, states=types, sequence_db=decibels(noise))


def _outputs_in_sequence(session: Any, calibration: Calibration, states: Sequence[State]) -> list[Array]:
    kept = {each.next for each in states}
    runs = in_sequence(session, calibration.samples, states)
    return [array for _, results in runs for name, array in results.items() if name not in kept]


@contextmanager
def _sessions() -> Iterator[Any]:
    """Yields a function that opens a model file for running, and converts ONNX Runtime's errors."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingToolError(
            "quantizing needs ONNX Runtime, which is not installed", "", pip_install("quantize")
        ) from None

    onnxruntime.set_default_logger_severity(_ERRORS_ONLY)  # its warnings are about its internal optimizations

    def open_session(path: Path) -> Any:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.x64quantprecision", "1")  # otherwise AVX2 saturates
        try:
            return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions share no base class
            raise ModelError("ONNX Runtime cannot read the model", path.name, _first_line(error)) from None

    yield open_session


def _spec(entry: Any, given: tuple[int, ...] | None, path: Path) -> TensorSpec:
    if entry.type not in _ORT_TYPES:
        raise ModelError(
            f'input "{entry.name}" is a {entry.type}', path.name, f"one of {_listed(_ORT_TYPES)}"
        )
    sizes = [dim if isinstance(dim, int) else None for dim in entry.shape]
    if given is None:
        if None in sizes[1:]:
            example = ",".join(str(size or 1) for size in sizes)
            raise ModelError(
                f'input "{entry.name}" has shape {entry.shape}: only the first dimension may be open',
                path.name,
                f"set its sizes: --shape {entry.name}={example}",
            )
        return TensorSpec(entry.name, TensorType(_ORT_TYPES[entry.type], tuple(size or 1 for size in sizes)))
    if len(given) != len(sizes) or any(d not in (None, g) for d, g in zip(sizes, given, strict=True)):
        raise ModelError(
            f'shape {list(given)} for input "{entry.name}" does not fit {entry.shape}',
            path.name,
            "give a size for each open dimension, and keep the others",
        )
    return TensorSpec(entry.name, TensorType(_ORT_TYPES[entry.type], given))


def _prepare(data: bytes, path: Path, prepared: Path) -> None:
    """Folds batch normalization into convolutions, which is impossible in an int8 model."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    newer = prepared.with_name("newer.onnx")
    newer.write_bytes(data)
    with _quiet(), _failures_named(path):
        quant_pre_process(str(newer), str(prepared), skip_symbolic_shape=True)
    prepared.write_bytes(with_vector_biases(prepared.read_bytes()))


def _quantize_files(
    path: Path,
    files: tuple[Path, Path],
    calibration: Calibration,
    method: str,
    narrow: frozenset[str],
    open_session: Callable[[Path], Any],
    refine: bool,
) -> tuple[Refinement, ...]:
    """Writes the int8 model of the prepared one, with `refine` of the variant with the least loss.

    Afterwards the prepared model is the one with which layers of the int8 model are compared.
    """
    prepared, int8 = files
    if not refine:
        with progress("quantizing", 1) as bar:
            bar.step(f"{path.name} with {counted(len(calibration.samples), 'sample')}")
            _quantize_file(path, prepared, int8, calibration, method, narrow)
        return ()
    samples = calibration.samples[:_MOST_COMPARED]
    outputs = outputs_of(open_session(prepared), samples)
    tried, source = prepared.with_name("tried.onnx"), prepared.with_name("way.onnx")
    noises: dict[str, float] = {}
    best = ""
    with progress("refining", 1 + len(WAYS)) as bar:
        bar.step("ranges of the values")
        found = ways(prepared.read_bytes(), narrow, answers_of(source, samples, open_session))
        for name, way in found.items():
            bar.step(name)
            source.write_bytes(way.model)
            _quantize_file(path, source, tried, calibration, method, narrow)
            noises[name] = noise_of(outputs, outputs_of(open_session(tried), samples))
            if not best or noises[name] < noises[best]:
                best = name
                int8.write_bytes(tried.read_bytes())
                prepared.write_bytes(way.real)
    return tuple(Refinement(name, decibels(noise), name == best) for name, noise in noises.items())


def _quantize_file(
    path: Path, prepared: Path, int8: Path, calibration: Calibration, method: str, narrow: frozenset[str]
) -> None:
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

    data, steps = narrowed(prepared.read_bytes(), narrow)
    axes = {each.name: each.axis for each in layer_weights(data)}
    overrides = {name: _channel_steps(axes[name], each) for name, each in steps.items()}
    source = prepared.with_name("narrowed.onnx")
    source.write_bytes(data)
    with _quiet(), _failures_named(path):
        quantize_static(
            str(source),
            str(int8),
            _reader(calibration.samples),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=[*QLinearOpsRegistry, *QDQRegistry, "LogSoftmax"],
            calibrate_method=CalibrationMethod[METHODS[method]],
            extra_options={"TensorQuantOverrides": _fixed_steps(prepared) | overrides},
        )


def _channel_steps(axis: int, steps: Array) -> list[dict[str, Any]]:
    """Returns weight scales in the quantizer's format; the first entry contains the axis."""
    zero = np.array(0, np.int8)
    first, *others = ({"scale": np.array(step, np.float32), "zero_point": zero} for step in steps)
    return [{"axis": axis, **first}, *others]


def _narrow(widths: Sequence[LayerWidth]) -> frozenset[str]:
    return frozenset(each.weights for each in widths if each.bits == NARROW)


def _widths(
    prepared: Path, calibration: Calibration, bound: Bound | None, open_session: Callable[[Path], Any]
) -> tuple[LayerWidth, ...]:
    """Returns the width of each layer's weights by their loss in four bits; without bound, all have four."""
    data, samples = prepared.read_bytes(), calibration.samples[:_MOST_COMPARED]
    outputs = outputs_of(open_session(prepared), samples)
    trial = prepared.with_name("trial.onnx")
    layers, weights = [], list(layer_weights(data))
    with progress("weights of four bits", len(weights)) as bar:
        for each in weights:
            bar.step(each.value)
            trial.write_bytes(narrowed(data, {each.name})[0])
            noise = noise_of(outputs, outputs_of(open_session(trial), samples))
            layers.append(LayerWeights(each.name, each.value, each.op, each.elements, noise, each.node))

    def together(names: frozenset[str]) -> float:
        trial.write_bytes(narrowed(data, names)[0])
        return noise_of(outputs, outputs_of(open_session(trial), samples))

    narrow = frozenset(layer.name for layer in layers) if bound is None else bound.narrow(layers, together)
    return tuple(_layer_width(layer, NARROW if layer.name in narrow else WIDE) for layer in layers)


def _layer_width(layer: LayerWeights, bits: int) -> LayerWidth:
    size, loss = layer.bytes_of(bits), decibels(layer.noise)
    return LayerWidth(layer.value, layer.name, layer.op, bits, size, loss, layer.node)


def _fixed_steps(prepared: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the fixed scales of integer softmax, as in TFLite, and of its logarithm, from -16 to 0."""
    from onnxruntime.quantization.quant_utils import load_model_with_shape_infer

    steps = {"Softmax": (1 / 256, -128), "LogSoftmax": (1 / 16, 127)}
    nodes = load_model_with_shape_infer(prepared).graph.node
    return {
        node.output[0]: [{"scale": np.array(scale, np.float32), "zero_point": np.array(zero, np.int8)}]
        for node in nodes
        if node.op_type in steps
        for scale, zero in [steps[node.op_type]]
    }


def _layer_errors(
    prepared: Path, int8: Path, samples: Sequence[Mapping[str, Array]], folder: Path
) -> tuple[LayerError, ...]:
    from onnxruntime.quantization import qdq_loss_debug as debug
    from onnxruntime.quantization.quant_utils import load_model_with_shape_infer

    with _quiet():
        values = []
        for model in (prepared, int8):
            watched = folder / f"watched_{model.name}"
            debug.modify_model_output_intermediate_tensors(str(model), str(watched))
            values.append(debug.collect_activations(str(watched), _reader(samples)))
        matched = debug.create_activation_matching(values[1], values[0])
        nodes = load_model_with_shape_infer(prepared).graph.node
    ops = {value: node.op_type for node in nodes for value in node.output}
    pairs = ((value, op, matched.get(value)) for value, op in ops.items())
    return tuple(_layer_error(value, op, pair) for value, op, pair in pairs if pair and "float" in pair)


def _layer_error(value: str, op: str, pair: Mapping[str, Sequence[Array]]) -> LayerError:
    real = np.concatenate([np.ravel(part) for part in pair["float"]]).astype(np.float64)
    found = np.concatenate([np.ravel(part) for part in pair["post_qdq"]]).astype(np.float64)
    noise = float(((real - found) ** 2).sum())
    signal = float((real**2).sum())
    largest = float(np.abs(real - found).max())
    extent = float(real.max() - real.min())
    decibels = 10 * np.log10(signal / noise) if noise and signal else float("inf")
    return LayerError(value, op, float(decibels), largest, largest / extent if extent else 0.0)


def _share_right(classes: Array | None, labels: Array | None) -> float | None:
    return None if labels is None or classes is None else float((classes == labels).mean())


def _reader(samples: Sequence[Mapping[str, Array]]) -> Any:
    """Returns a reader of samples for the calibrator, which reads them twice, each time up to None."""
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # the base class has no type hints
        def __init__(self) -> None:
            self.rewind()

        def get_next(self) -> dict[str, Array] | None:
            return next(self._left, None)

        def rewind(self) -> None:
            self._left: Iterator[dict[str, Array]] = iter([dict(sample) for sample in samples])

    return Reader()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the quantizer's output, and its hints in the root log about options that are not used here."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # any exception is about this model
        raise ToolError("ONNX Runtime's quantizer failed", path.name, _first_line(error)) from error


def _first_line(error: Exception) -> str:
    return f"it reports: {(str(error) or type(error).__name__).splitlines()[0]}"


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)
