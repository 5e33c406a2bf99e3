"""PyTorch modules in one call: exported, quantised with samples, compiled, and measured with labels."""

from __future__ import annotations

import inspect
import io
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from aot.counted import counted
from aot.errors import InputError, ToolError
from aot.interpret import run_graph
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array
from boards.board import Board
from codegen.job import ImportedModel, import_data
from codegen.options import CompileOptions
from deploy.answer import Paged
from deploy.benching import emulated
from deploy.calibration import LABELS, Calibration, make_calibration
from deploy.compiling import Compiled, compile_for
from deploy.console import table
from deploy.line import LineOptions
from deploy.quality import Truth, is_of_classes
from deploy.quantizing import Quantized, quantize
from deploy.samples import make_samples
from deploy.torch_words import ModuleWords
from deploy.verifying import Verdict, verify_model
from deploy.weight_widths import NARROW, Bound

FILE = "module.onnx"  # as errors call what was exported
_COMPARED = 8  # samples of which PyTorch's outputs are compared with ours
_WORST = 5  # layers that are shown


@dataclass(frozen=True)
class Conversion(Paged):
    """Tells what became of a module: how far its export is, the loss of int8, what a board makes of it."""

    distance: float  # of PyTorch's outputs from ours in float, the largest over all samples compared
    compared: int  # samples
    quantized: Quantized | None  # where there were samples to calibrate with
    torch_right: float | None  # share of the samples, where there are labels
    verdict: Verdict | None  # of the emulated board, where there are labels

    @property
    def board_right(self) -> float | None:
        """The share of the samples that the emulated board has right."""
        return None if self.verdict is None or self.verdict.accuracy is None else self.verdict.accuracy.board

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"exported      outputs differ from PyTorch's by {self.distance:.2g} at most, "
            f"{counted(self.compared, 'sample')}"
        )
        if self.quantized is not None:
            yield f"quantised     int8, {self.quantized.float_bytes:,} -> {len(self.quantized.data):,} bytes"
            yield from _refined(self.quantized)
            yield from _widths(self.quantized)
            if self.quantized.same_class is not None:
                yield f"same class    {self.quantized.same_class:.1%} of the samples, as float"
        if self.torch_right is not None:
            yield f"right         {self.torch_right:.1%} in PyTorch"
        if self.verdict is not None and self.verdict.accuracy is not None:
            accuracy = self.verdict.accuracy
            yield f"              {accuracy.reference:.1%} by the reference here"
            bits = "the same bits" if self.verdict.equal else "OTHER BITS"
            yield f"              {accuracy.board:.1%} on {self.verdict.board}, {bits}"
        if self.quantized is not None:
            worst = sorted(self.quantized.layers, key=lambda layer: layer.signal_to_noise_db)[:_WORST]
            rows = [(each.value, each.op, f"{each.signal_to_noise_db:.1f}") for each in worst]
            yield "\n" + table(("layer, the worst first", "op", "signal to noise, dB"), rows)


def _refined(made: Quantized) -> Iterator[str]:
    """Says what other weights for the same model have brought, where they have brought something."""
    if made.refined is not None:
        before, after = made.refinements[0].signal_to_noise_db, made.refined.signal_to_noise_db
        yield f"refined       {made.refined.name}; outputs, signal to noise: {before:.1f} -> {after:.1f} dB"


def _widths(made: Quantized) -> Iterator[str]:
    if made.widths:
        narrow = sum(each.bits == NARROW for each in made.widths)
        layers, total = counted(len(made.widths), "layer"), sum(each.bytes for each in made.widths)
        yield f"weights       of four bits in {narrow} of {layers}, {total:,} bytes in all"


@dataclass(frozen=True)
class CompiledModule(Compiled):
    """A module that fits its board, with what its conversion cost."""

    conversion: Conversion | None = None

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.conversion}"


def compile_module(module: Any, words: ModuleWords, board: Board, options: CompileOptions) -> CompiledModule:
    """Compiles a module. Raises InputError, ToolError, ModelError, FitError."""
    _require_sense(words, options)
    examples = words.example if isinstance(words.example, tuple) else (words.example,)
    names = _input_names(module, len(examples))
    with _in_eval(module), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_bytes(_exported(module, examples, names))
        as_float = import_data(path.read_bytes(), path, replace(options, front=None, back=None))
        specs = graph_specs(as_float.graph, as_float.graph.inputs)
        samples = make_calibration(_arrays(names, examples, words), specs, "calibration")
        outputs = _outputs(module, samples)
        made = None if words.calibration is None else _quantized(path, samples, words.signal_to_noise)
    model = import_data(as_float.file if made is None else made.data, path, options)
    compiled = compile_for(model, board, options)
    conversion = Conversion(
        _distance(as_float, samples, outputs[:_COMPARED]),
        len(outputs[:_COMPARED]),
        made,
        _share_right(outputs, samples.labels),
        None if words.labels is None else _on_emulator(compiled, samples),
    )
    known = {each.name: getattr(compiled, each.name) for each in fields(compiled)}
    return CompiledModule(**known, conversion=conversion)


def _quantized(path: Path, samples: Calibration, least_db: float | None) -> Quantized:
    """The exported module with weights of eight bits, or of four where that leaves so many decibels."""
    if least_db is None:
        return quantize(path, samples, "minmax", {}, refine=True)
    bound = Bound(signal_to_noise_db=least_db)
    return quantize(path, samples, "minmax", {}, "mixed", bound, refine=True)


def _require_sense(words: ModuleWords, options: CompileOptions) -> None:
    if words.example is None:
        raise InputError(
            "a PyTorch module is exported with an example of its input",
            hint="deploy.compile(module, board=..., example=torch.zeros(1, 3, 32, 32))",
        )
    if words.signal_to_noise is not None and words.calibration is None:
        raise InputError(
            "signal to noise is measured on samples, and there are none",
            hint="calibration=samples, the first axis counts them",
        )
    if words.labels is not None and words.calibration is None:
        raise InputError(
            "labels are of samples, and there are none",
            hint="calibration=samples, the first axis counts them",
        )
    if words.labels is not None and (options.front or options.back):
        raise InputError(
            "labels are compared with the module's own outputs, and a front or back end stands around it",
            hint="leave the labels out, or the front and the back end",
        )


def _input_names(module: Any, count: int) -> list[str]:
    """The names of forward's first arguments."""
    names = [name for name in inspect.signature(module.forward).parameters if not name.startswith("args")]
    return names[:count] if len(names) >= count else [f"input_{number}" for number in range(count)]


@contextmanager
def _in_eval(module: Any) -> Iterator[None]:
    """Dropout and normalisations as they are when a network is used; the modes of all parts come back."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in modes:
            part.training = was_training


def _exported(module: Any, examples: Sequence[Any], names: Sequence[str]) -> bytes:
    """The module as an ONNX file. Raises ToolError where neither of PyTorch's exporters makes one.

    The older takes a second, the newer more; it knows what the older cannot trace, such as attention.
    """
    import torch

    reasons = []
    for export in (_traced, _captured):
        try:
            with warnings.catch_warnings(), torch.no_grad(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")  # of what it is going to leave out, one day
                return export(torch, module, tuple(examples), list(names))
        except Exception as error:  # whatever it is, it speaks of this module
            reasons.append(error)
    first = (str(reasons[0]) or type(reasons[0]).__name__).splitlines()[0]
    what = "PyTorch cannot export the module"
    raise ToolError(what, type(module).__name__, f"it says: {first}") from reasons[0]


def _traced(torch: Any, module: Any, examples: tuple[Any, ...], names: list[str]) -> bytes:
    out = io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()  # one operator for a whole encoder: ONNX lacks it
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.onnx.export(module, examples, out, input_names=names, dynamo=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return out.getvalue()


def _captured(torch: Any, module: Any, examples: tuple[Any, ...], names: list[str]) -> bytes:
    program = torch.onnx.export(module, examples, input_names=names, dynamo=True, verbose=False)
    return bytes(program.model_proto.SerializeToString())


def _arrays(names: Sequence[str], examples: Sequence[Any], words: ModuleWords) -> dict[str, Array]:
    """The samples by the names of inputs, with their labels; without calibration the example alone."""
    calibration, labels = words.calibration, words.labels
    if calibration is None:
        given: Mapping[str, Any] = dict(zip(names, examples, strict=True))
    else:
        given = calibration if isinstance(calibration, Mapping) else {names[0]: calibration}
    arrays: dict[str, Array] = {name: np.asarray(array) for name, array in given.items()}
    return arrays if labels is None else {**arrays, LABELS: np.asarray(labels)}


def _outputs(module: Any, samples: Calibration) -> list[list[Array]]:
    """The outputs that PyTorch computes of each sample."""
    import torch

    found = []
    with torch.no_grad():
        for sample in samples.samples:
            outputs = module(*(torch.from_numpy(np.array(array)) for array in sample.values()))
            each = outputs if isinstance(outputs, tuple | list) else (outputs,)
            found.append([output.numpy() for output in each])
    return found


def _distance(model: ImportedModel, samples: Calibration, outputs: Sequence[Sequence[Array]]) -> float:
    """The largest difference of our float outputs from PyTorch's, over those samples that have outputs."""
    largest = 0.0
    for sample, expected in zip(samples.samples, outputs, strict=False):
        for ours, theirs in zip(run_graph(model.graph, sample).values(), expected, strict=True):
            distances: Array = np.abs(np.subtract(ours.reshape(-1), theirs.reshape(-1), dtype=np.float64))
            largest = max(largest, float(distances.max(initial=0)))
    return largest


def _share_right(outputs: Sequence[Sequence[Array]], labels: Array | None) -> float | None:
    first = [each[0] for each in outputs]
    if labels is None or not all(is_of_classes(output.shape) for output in first):
        return None
    return float(np.mean([int(np.argmax(output)) for output in first] == labels))


def _on_emulator(compiled: Compiled, samples: Calibration) -> Verdict:
    """Compares the emulated board, or the one that stands in for it, with the reference."""
    here = replace(compiled, board=emulated(compiled.board))
    arrays = {name: np.stack([sample[name] for sample in samples.samples]) for name in samples.samples[0]}
    given = make_samples(arrays, compiled.artifact.facts.inputs, "calibration")
    return verify_model(here, given, False, None, LineOptions(), Truth(samples.labels))
