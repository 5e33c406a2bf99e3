"""Oracles: third-party runtimes that run a model's file on this computer, to check a board's results."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import InputError, ModelError, ToolError, did_you_mean
from aot.frontend.load import is_tflite, parse_model
from aot.frontend.tflite.importers.recurrent import FROM_INTEGERS
from aot.frontend.tflite.read import has_weights_in_blocks
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ops.hybrid_dense import HybridDense
from aot.ops.own_steps import MeasuredRange
from aot.ops.recurrent import Recurrent
from codegen.axis_sizes import is_open
from codegen.job import ImportedModel
from codegen.options import CompileOptions, Rounding
from deploy.cli.console import progress
from deploy.inputs.samples import Samples
from deploy.inspection.counted_outputs import counted, counts_of, in_whole
from deploy.verification.compare_layers import FLOAT_TOLERANCE

Outputs = tuple[Array, ...]
Item = Array | dict[object, float] | list["Item"]  # a tensor, a map by label, or a sequence
RunOne = Callable[[Sequence[Array]], Outputs]
_TFLM_ARENA_BYTES = 64 << 20
_ORT_ERRORS_ONLY = 3
NO_ORACLE = "none"
USUAL_TOLERANCE = 1e-3  # rounding errors differ between runtimes, because they sum in another order
# Element types in files whose values have other types here.
_WIDTHS: Mapping[str, type] = {
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


@dataclass(frozen=True, slots=True)
class Oracle:
    """A runtime, Solder's rounding mode that matches it, and how it opens a model's file."""

    title: str
    module: str
    package: str
    extra: str
    is_for_tflite: bool
    rounding: Rounding
    open: Callable[[ImportedModel, CompileOptions], RunOne]  # state persists between runs


@dataclass(frozen=True, slots=True)
class Judged:
    """A runtime's outputs of a model's file, for each sample."""

    name: str
    runtime: str  # name and version
    outputs: tuple[Outputs, ...]
    hint: str  # if the model was compiled with another rounding mode
    tolerance: float = FLOAT_TOLERANCE  # for floats, relative to the largest


def known_oracle(name: str | None) -> str | None:
    """Returns the name unchanged. Raises InputError if there is no such oracle."""
    if name is not None and name not in CHOICES:
        near = did_you_mean(name, CHOICES)
        raise InputError(f'there is no oracle "{name}"{near}', hint=f"known: {', '.join(CHOICES)}")
    return name


def ask_usual_oracle(model: ImportedModel, options: CompileOptions, samples: Samples) -> Judged | str:
    """Returns the outputs of the runtime with this model's rounding, or why there are none."""
    if not model.file or options.front is not None or options.back is not None:
        return "front or back ends were added to the model file"
    if options.approximate or options.half_weights:
        return "the options change the model's results"
    if is_open(options.shapes):
        return "the model has several sizes"
    if options.states and is_tflite(model.file):
        return "states of .tflite files are declared by the user"
    if (reason := _no_reference(model.graph)) and is_tflite(model.file):
        return reason
    if is_tflite(model.file) and has_weights_in_blocks(model.file, model.source_name):
        return "LiteRT's reference kernels do not compute weights with a scale for each block"
    usual = _usual(model, options)
    if usual is None:
        return f"none supports --rounding {options.rounding.value} for such files"
    oracle = ORACLES[usual]
    if (layer := _quantized_on_the_way(model, options, oracle)) is not None:
        return (
            f"{oracle.title} quantizes the input of {layer}, whose weights are integers; "
            f"--rounding {oracle.rounding.value} does the same"
        )
    if importlib.util.find_spec(oracle.module) is None:
        return f"{oracle.title} is not installed ({pip_install(oracle.extra)})"
    try:
        return replace(ask_oracle(usual, model, options, samples), tolerance=USUAL_TOLERANCE)
    except ModelError as error:
        return ": ".join([error.what, *error.where.splitlines()[1:]])


def _no_reference(graph: Graph) -> str:
    """Returns why a recurrent layer cannot be compared with LiteRT; "" if every layer can."""
    for node in graph.nodes:
        if node.op.name != Recurrent.name:
            continue
        if node.origin.startswith("BIDIRECTIONAL_SEQUENCE_LSTM"):
            return "LiteRT's results of BIDIRECTIONAL_SEQUENCE_LSTM change from run to run"
        if any(name and name.endswith(FROM_INTEGERS) for name in node.inputs):
            return f"LiteRT quantizes inputs of {node.origin}, whose weights are integers; Solder does not"
    return ""


def _quantized_on_the_way(model: ImportedModel, options: CompileOptions, oracle: Oracle) -> str | None:
    """Returns a layer whose float inputs the oracle quantizes, unlike the options; None if there is none."""
    if oracle.rounding is options.rounding or not is_tflite(model.file):
        return None
    graph = parse_model(model.file, model.source_name, oracle.rounding.value)
    of_oracle = (node.origin for node in graph.nodes if isinstance(node.op, (HybridDense, MeasuredRange)))
    return next(of_oracle, None)


def _usual(model: ImportedModel, options: CompileOptions) -> str | None:
    """Returns the oracle for this file format and rounding; any one if the model has no integers."""
    found = [name for name, each in ORACLES.items() if each.is_for_tflite == is_tflite(model.file)]
    if not _has_integers(model.graph):
        known = [name for name in found if importlib.util.find_spec(ORACLES[name].module) is not None]
        return [*known, *found][0]
    return next((name for name in found if ORACLES[name].rounding is options.rounding), None)


def _has_integers(graph: Graph) -> bool:
    return any(tensor.quant is not None for tensor in graph.types.values())


def ask_oracle(name: str, model: ImportedModel, options: CompileOptions, samples: Samples) -> Judged:
    """Runs the model's file in this runtime. Raises InputError, ToolError, ModelError."""
    oracle = ORACLES[name]
    if not model.file:
        raise InputError(
            f"{oracle.title} needs a model file",
            model.source_name,
            "give the model file",
        )
    if options.front is not None:
        raise InputError(
            f"{oracle.title} needs the inputs of the model file, not those of the front end",
            f"--front {options.front}",
            "omit --front to compare the network alone; front ends are tested against their libraries",
        )
    if is_tflite(model.file) != oracle.is_for_tflite:
        others = [n for n, each in ORACLES.items() if each.is_for_tflite != oracle.is_for_tflite]
        raise InputError(
            f"{oracle.title} does not read {'TFLite' if is_tflite(model.file) else 'ONNX'} models",
            model.source_name,
            f"--oracle {' or '.join(others)}",
        )
    _require_package(oracle)
    with _failures_named(oracle, model.source_name):
        run = oracle.open(model, options)
    outputs = []
    with progress(f"running in {oracle.title}", len(samples)) as bar:
        for number, sample in enumerate(samples.each):
            bar.step(f"sample {number + 1} of {len(samples)}")
            with _failures_named(oracle, model.source_name):
                outputs.append(run(_as_in_the_file(model.graph, sample)))
    title = f"{oracle.title} {metadata.version(oracle.package)}"
    return Judged(name, title, tuple(outputs), _hint(oracle, options, model.graph))


def _hint(oracle: Oracle, options: CompileOptions, graph: Graph) -> str:
    """Returns a hint: use the oracle's rounding mode or, if that makes no difference, a possible bug."""
    if options.rounding is oracle.rounding or not _has_integers(graph):
        return "this may be a bug in Solder: please report it with the model and these inputs"
    return (
        f"this is compiled with --rounding {options.rounding.value};"
        f" --rounding {oracle.rounding.value} is {oracle.title}'s"
    )


def _as_in_the_file(graph: Graph, sample: Sequence[Array]) -> list[Array]:
    """Reshapes inputs: a streamed input is an image in the file and may be a vector here."""
    types = (graph.types[name] for name in graph.inputs)
    return [np.ascontiguousarray(a.reshape(type.shape)) for a, type in zip(sample, types, strict=True)]


def _require_package(oracle: Oracle) -> None:
    try:
        importlib.import_module(oracle.module)
    except ImportError:
        hint = pip_install(oracle.extra)
        raise ToolError(
            f"{oracle.title} is not installed", f"Python package {oracle.package}", hint
        ) from None


@contextmanager
def _failures_named(oracle: Oracle, file: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # their exceptions share no base class
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"{oracle.title} cannot run this model", f"{file}\n{first}") from None


def _open_litert(model: ImportedModel, _options: CompileOptions) -> RunOne:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    # The optimized kernels are no reference: they round some products differently.
    kernels = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_content=model.file, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    sources, results = interpreter.get_input_details(), interpreter.get_output_details()

    def run(sample: Sequence[Array]) -> Outputs:
        for source, array in zip(sources, sample, strict=True):
            interpreter.set_tensor(source["index"], array)
        interpreter.invoke()
        return tuple(interpreter.get_tensor(result["index"]) for result in results)

    return run


def _open_tflm(model: ImportedModel, _options: CompileOptions) -> RunOne:
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model.file, arena_size=_TFLM_ARENA_BYTES)
    outputs = range(len(model.graph.outputs))

    def run(sample: Sequence[Array]) -> Outputs:
        for number, array in enumerate(sample):
            interpreter.set_input(array, number)
        interpreter.invoke()
        return tuple(np.array(interpreter.get_output(number)) for number in outputs)

    return run


def onnx_session(file: bytes) -> Any:
    """Opens a file so that it gives the same bits on every processor.

    A file of QuantizeLinear and DequantizeLinear pairs is opened as users open it: ONNX Runtime computes the
    operators between them in integers. All other files are run operator by operator.
    """
    from aot.frontend.onnx.exact_sums import is_of_pairs, with_exact_sums

    if is_of_pairs(file):
        try:
            return _session(file, is_optimized=True)
        except Exception:  # products of two inputs, for one, are rewritten with types that do not match
            pass
    return _session(with_exact_sums(file), is_optimized=False)


def _session(file: bytes, is_optimized: bool) -> Any:
    import onnxruntime

    its, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    its.log_severity_level = _ORT_ERRORS_ONLY
    its.graph_optimization_level = level.ORT_ENABLE_ALL if is_optimized else level.ORT_DISABLE_ALL
    if is_optimized:
        its.add_session_config_entry("session.x64quantprecision", "1")  # sums do not saturate without VNNI
    return onnxruntime.InferenceSession(file, its, providers=["CPUExecutionProvider"])


def _open_ort(model: ImportedModel, options: CompileOptions) -> RunOne:
    from aot.frontend.onnx.exact_sums import with_outputs

    counts = [*counts_of(model.graph)]
    file = with_outputs(model.file, counted(counts)) if counts else model.file
    session = onnx_session(file)
    names = [each.name for each in session.get_outputs()]
    fixed = {name: np.asarray(value) for name, value in options.input_overrides.values.items()}
    inputs = {each.name: each.type for each in session.get_inputs()}
    paired = [s for s in model.graph.states if s.name in inputs and s.next in names]
    kept = {s.name: s.initial for s in paired}

    def run(sample: Sequence[Array]) -> Outputs:
        given = fixed | kept | dict(zip(model.graph.inputs, sample, strict=True))
        fed = {
            name: _whole(name, kind, given, options.input_overrides.shapes) for name, kind in inputs.items()
        }
        found = session.run(None, {name: item for name, item in fed.items() if item is not None})
        if kept:
            made = dict(zip(names, found, strict=True))
            kept.update({s.name: made[s.next] for s in paired})
            found = [made[name] for name in names if all(name != s.next for s in paired)]
        if counts:
            return in_whole(model.graph, counts, dict(zip(names, found, strict=True)))
        return tuple(_tensors(found))

    return run


def _whole(
    name: str, kind: str, tensors: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]
) -> Item | None:
    """Returns an input of the file. A sequence consists of several graph inputs; None if absent."""
    if name not in tensors:
        several = name in shapes
        return [tensors[f"{name}_{number}"] for number in range(shapes[name][0])] if several else None
    return tensors[name].astype(_WIDTHS[kind]) if kind in _WIDTHS else tensors[name]


def _tensors(items: Sequence[Item | None]) -> Iterator[Array]:
    """Yields the outputs that the graph has, too: elements of sequences, and only non-empty tensors.

    Maps by label, which scikit-learn's exporter creates, become one tensor of their numbers.
    """
    for item in items:
        if isinstance(item, list):
            maps = [list(each.values()) for each in item if isinstance(each, dict)]
            yield from [np.array(maps, np.float32)] if maps else _tensors(item)
        elif not isinstance(item, dict) and item is not None and item.size:
            yield item


ORACLES: Mapping[str, Oracle] = {
    "litert": Oracle(
        "LiteRT", "ai_edge_litert", "ai-edge-litert", "oracle", True, Rounding.LITERT_REF, _open_litert
    ),
    "tflm": Oracle(
        "TensorFlow Lite Micro", "tflite_micro", "tflite-micro", "tflm", True, Rounding.TFLM, _open_tflm
    ),
    "ort": Oracle("ONNX Runtime", "onnxruntime", "onnxruntime", "quantize", False, Rounding.ONNX, _open_ort),
}
CHOICES = (*ORACLES, NO_ORACLE)  # for users
