"""Writes an int8 model, ONNX or TFLite, from a float model and samples, and reports the loss."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from aot.errors import InputError, ModelError, OutputError, did_you_mean
from aot.frontend.declared import InputOverrides
from aot.frontend.load import parse_model, read_file, read_model, require_onnx
from aot.frontend.onnx.byte_caches import require_one_position, with_byte_caches
from aot.frontend.onnx.float_model import require_float
from aot.frontend.onnx.packed_products import with_packed_products
from aot.frontend.paired_states import open_question, with_states
from aot.ir.graph import State
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from aot.wording import counted
from artifact.memory_map import shortened
from artifact.whole_file import write_whole
from codegen.axis_sizes import Shapes, largest_shapes
from codegen.options import read_options
from deploy.cli.command_result import Answer
from deploy.cli.console import OnProgress, reports_progress, table
from deploy.cli.renamed import renamed
from deploy.compiler.several_sizes import require_one_size
from deploy.inputs.data_doubts import calibration_doubts
from deploy.inputs.given_arrays import by_name, with_labels
from deploy.inputs.result_paths import require_place
from deploy.python_api.model import model_path
from deploy.quantization.activation_widths import ACTIVATIONS, DYNAMIC, wider_of
from deploy.quantization.calibration import Calibration, make_calibration, read_calibration
from deploy.quantization.onnx_quantizer import (
    METHODS,
    WEIGHTS,
    Quantized,
    as_onnx,
    model_specs,
    with_integers_outside,
)
from deploy.quantization.onnx_quantizer import quantize as quantized
from deploy.quantization.weight_widths import Bound

IO_TYPES = ("float32", "int8")
METHOD = "minmax"
_WIDEST_NAME = 60
_FEW_SAMPLES = 10  # with fewer, a warning is shown
_SUFFIXES = (".onnx", ".tflite")
_BITS = {"int8": 8, "int4": 4}
_ONNX_QUANTISER = "onnx.quantize"  # name of ONNX Runtime's quantizer


@renamed(io="io_type", weights="weight_type", activations="activation_type")
@reports_progress
def quantize(
    model: str | Path,
    data: str | Path | Mapping[str, Array] | None,
    output: str | Path,
    method: str = METHOD,
    io_type: str = IO_TYPES[0],
    shape: Shapes | None = None,
    weight_type: str = "int8",
    flash: int | None = None,
    signal_to_noise: float | None = None,
    refine: bool = False,
    activation_type: str = "int8",
    labels: Array | None = None,
    *,
    state: Mapping[str, str] | Sequence[str] | str | None = None,
    on_progress: OnProgress | None = None,
) -> Answer:
    """Quantizes a float model, ONNX or TFLite, to int8 with samples of its inputs; writes .onnx or .tflite.

    `data` has samples by input name, counted by the first axis; `labels` are their classes, next to them or
    among them.

    io_type: "int8" also makes inputs and outputs integers, which saves the conversion on the board. With
      activation_type "dynamic" it does so for caches of keys and values only.
    weight_type: "int4" gives convolutions and dense layers weights of four bits. "mixed" gives four bits to
      the layers that lose least, until the weights need `flash` bytes, or while the outputs stay
      `signal_to_noise` decibels above the error of the four-bit weights.
    activation_type: "int16" gives values between layers 16 bits. "mixed" does so for those that lose most,
      until the outputs are `signal_to_noise` decibels above the error of the whole model. "dynamic" needs no
      samples: only weights of matrix products and tables are stored in few bits, and values stay floats.
    state: pairs of an input and the output it becomes, as for compile. The samples follow each other, from
      the states' first values on, and the written file declares the states.
    refine: also scales channels to equal ranges and corrects biases, if the outputs of the samples get
    nearer.
    """
    path, place = model_path(model), Path(output)
    _require_known("method", method, METHODS)
    _require_known("io_type", io_type, IO_TYPES)
    _require_known("weight_type", weight_type, WEIGHTS)
    _require_known("activation_type", activation_type, ACTIVATIONS)
    example = "--activation-type mixed --signal-to-noise 40"
    wider = wider_of(activation_type, signal_to_noise, io_type == "int8", example)
    bound = _bound(weight_type, flash, None if activation_type == "mixed" else signal_to_noise)
    _require_known_name(place)
    require_place(place, _is_quantised, "a model that was quantized before")
    options = read_options({"shape": shape, "state": state})
    require_one_size(options, "deploy quantize")
    shapes = largest_shapes(options.shapes)
    if activation_type == DYNAMIC:
        is_usual = method == METHOD and not refine and not shapes and not options.states
        with as_onnx(path) as file:
            return _dynamic(file, place, weight_type, io_type == "int8", is_usual and data is None)
    if data is None:
        raise InputError(
            "samples of the inputs are missing", hint="--data FILE.npz or --activation-type dynamic"
        )
    with as_onnx(path) as file:
        states = _states(file, shapes, options.states)
        if states and place.suffix == ".tflite":
            raise OutputError("a .tflite file cannot declare states", str(place), "-o FILE.onnx")
        kept = {each.name for each in states}
        slots = tuple(each for each in model_specs(file, shapes) if each.name not in kept)
        try:
            calibration = _calibration(data, labels, slots)
        except InputError as error:
            asked = _question(file, shapes, options.states) if error.what.endswith("is missing") else ""
            raise InputError(error.what, error.where, asked or error.hint) from None
        made = quantized(file, calibration, method, shapes, weight_type, bound, refine, wider, states)
        if io_type == "int8":
            made = with_integers_outside(made, file, states)
    if place.suffix == ".tflite":
        made = replace(made, data=_as_tflite(made.data, slots, place.name))
    write_whole(place, made.data)
    count = len(calibration.samples)
    warnings = (*_few(count), *calibration_doubts(calibration.samples))
    return Answer(_facts(made, place, warnings), _page(made, place, count, method, warnings))


def _calibration(
    data: str | Path | Mapping[str, Array], labels: Array | None, slots: tuple[TensorSpec, ...]
) -> Calibration:
    if isinstance(data, str | Path):
        return read_calibration(Path(data), slots)
    return make_calibration(with_labels(by_name(data), labels), slots)


def _states(path: Path, shapes: Mapping[str, tuple[int, ...]], pairs: Mapping[str, str]) -> tuple[State, ...]:
    """Returns the states of a float model: given ones, and those that the file declares itself."""
    data = read_model(path)
    if not pairs and b"solder.state." not in data:
        return ()
    return with_states(parse_model(data, path.name, overrides=InputOverrides(shapes)), pairs).states


def _question(path: Path, shapes: Mapping[str, tuple[int, ...]], pairs: Mapping[str, str]) -> str:
    """Returns the question whether inputs that the samples may lack are states; empty if it is answered."""
    try:
        return open_question(
            parse_model(read_model(path), path.name, overrides=InputOverrides(shapes)), pairs
        )
    except ModelError:
        return ""


def _dynamic(path: Path, place: Path, weight_type: str, has_byte_caches: bool, is_usual: bool) -> Answer:
    """Packs the weights of matrix products, and caches of keys and values if wanted; others stay floats."""
    if not is_usual or place.suffix != ".onnx" or weight_type not in _BITS:
        raise InputError(
            "--activation-type dynamic accepts --io-type, --weight-type int8 or int4, and writes .onnx",
            hint=f"--activation-type dynamic -o {place.with_suffix('.onnx').name}",
        )
    before = read_file(path)
    require_onnx(before, path.name)
    model = require_float(before, path.name)
    if has_byte_caches:
        require_one_position(model)  # now, since packed products hide shapes
    made, packed = with_packed_products(before, _BITS[weight_type])
    if not packed:
        raise ModelError("the model has no matrix product with constant weights", path.name)
    made, caches = with_byte_caches(made) if has_byte_caches else (made, ())
    if has_byte_caches and not caches:
        raise ModelError(
            "the model has no caches of keys and values that TensorScatter writes and Attention reads, "
            "or GroupQueryAttention",
            path.name,
            "leave out --io-type int8, or export the caches as 'deploy docs exporting' shows",
        )
    write_whole(place, made)
    facts = {
        "model": str(place),
        "bytes": len(made),
        "float_bytes": len(before),
        "packed": list(packed),
        "caches": list(caches),
    }
    with_caches = f", {counted(len(caches), 'cache')} in int8" if caches else ""
    page = (
        f"{place}: weights of {counted(len(packed), 'layer')} in {weight_type}{with_caches}; "
        f"{len(before):,} -> {len(made):,} bytes"
    )
    return Answer(facts, page)


def _as_tflite(data: bytes, specs: Sequence[TensorSpec], file_name: str) -> bytes:
    """Converts the quantized ONNX model to TFLite with the same integers. Raises ModelError if impossible."""
    from aot.frontend.tflite.write import write_model

    shapes = {spec.name: spec.shape for spec in specs}
    graph = parse_model(data, Path(file_name).with_suffix(".onnx").name, "tflm", InputOverrides(shapes))
    return write_model(graph, file_name)


def _require_known(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InputError(
            f'{what} "{name}" is not known{did_you_mean(name, known)}', hint=f"known: {', '.join(known)}"
        )


def _bound(weights: str, flash: int | None, signal_to_noise: float | None) -> Bound | None:
    given = (flash is not None) + (signal_to_noise is not None)
    if given != (weights == "mixed"):
        raise InputError(
            "--weight-type mixed needs --flash or --signal-to-noise, other weight types accept neither",
            hint="--weight-type mixed --flash 64KB, or --weight-type mixed --signal-to-noise 30",
        )
    return Bound(flash, signal_to_noise) if given else None


def _is_quantised(path: Path) -> bool:
    """Returns whether the file contains the name of its quantizer."""
    from aot.frontend.tflite.write import WRITTEN_BY

    return (WRITTEN_BY if path.suffix == ".tflite" else _ONNX_QUANTISER).encode() in path.read_bytes()


def _require_known_name(path: Path) -> None:
    if path.suffix not in _SUFFIXES:
        raise OutputError(
            f"the int8 model must be .onnx or .tflite, not {path.suffix or 'a file without a suffix'}",
            str(path),
            " or ".join(f"-o {path.with_suffix(suffix)}" for suffix in _SUFFIXES),
        )


def _facts(made: Quantized, path: Path, warnings: Sequence[str]) -> dict[str, object]:
    return {
        "model": str(path),
        "bytes": len(made.data),
        "float_bytes": made.float_bytes,
        "edges": [asdict(edge) for edge in made.edges],
        "same_class": made.same_class,
        "float_right": made.float_right,
        "int8_right": made.int8_right,
        "layers": [asdict(layer) for layer in made.layers],
        "weights": [asdict(each) for each in made.widths],
        "widened": None if made.widened is None else asdict(made.widened),
        "refinements": [asdict(each) for each in made.refinements],
        "states": dict(made.states),
        "sequence_db": made.sequence_db,
        "warnings": list(warnings),
    }


def _page(made: Quantized, path: Path, samples: int, method: str, warnings: Sequence[str]) -> str:
    rows = [
        (
            shortened(layer.value, _WIDEST_NAME),
            layer.op,
            f"{layer.signal_to_noise_db:.1f}",
            f"{layer.largest:.4g}",
            f"{layer.largest_of_range:.2%}",
        )
        for layer in made.layers
    ]
    heads = ("value", "op", "signal to noise, dB", "largest error", "of its range")
    return "\n".join(
        (
            f"{path}: int8, {counted(samples, 'sample')}, {method}; "
            f"{made.float_bytes:,} -> {len(made.data):,} bytes",
            *(f"warning: {each}" for each in warnings),
            "",
            table(heads, rows),
            *_widths(made),
            *_activations(made),
            *_refinements(made),
            *_right(made),
            *_kept(made),
            *_edges(made),
        )
    )


def _widths(made: Quantized) -> tuple[str, ...]:
    if not made.widths:
        return ()
    rows = [
        (
            shortened(each.value, _WIDEST_NAME),
            each.op,
            str(each.bits),
            f"{each.bytes:,}",
            f"{each.signal_to_noise_db:.1f}",
        )
        for each in made.widths
    ]
    heads = ("weights of", "op", "bits", "bytes", "only these in four bits, dB")
    total = sum(each.bytes for each in made.widths)
    note = "(with two of four bits in a byte; deploy inspect --board shows what its kernels store)"
    return ("", table(heads, rows), f"these weights take {total:,} bytes", note)


def _activations(made: Quantized) -> tuple[str, ...]:
    if made.widened is None:
        return ()
    rows = [
        (shortened(each.value, _WIDEST_NAME), each.op, str(each.bits), f"{each.signal_to_noise_db:.1f}")
        for each in made.widened.activations
    ]
    before, after = made.widened.int8_db, made.widened.signal_to_noise_db
    return (
        "",
        table(("value", "op", "bits", "only it in eight bits, dB"), rows),
        f"outputs, signal to noise: {before:.1f} dB with all in eight bits, now {after:.1f} dB so",
    )


def _refinements(made: Quantized) -> tuple[str, ...]:
    if not made.refinements:
        return ()
    rows = [
        (each.name, f"{each.signal_to_noise_db:.1f}", "kept" if each.is_kept else "")
        for each in made.refinements
    ]
    return ("", table(("weights", "outputs, signal to noise, dB", ""), rows))


def _kept(made: Quantized) -> tuple[str, ...]:
    if made.sequence_db is None:
        return ()
    return (
        "",
        table(("state", "type"), list(made.states.items())),
        f"outputs, signal to noise: {made.sequence_db:.1f} dB over the samples, with its own states",
    )


def _edges(made: Quantized) -> tuple[str, ...]:
    """Explains how callers convert floats to the model's integers and back."""
    if not made.edges:
        return ()
    rows = [
        ("input" if edge.is_input else "output", edge.name, f"{edge.scale:.9g}", str(edge.zero_point))
        for edge in made.edges
    ]
    return ("", table(("int8", "name", "scale", "zero point"), rows), "real = scale * (integer - zero point)")


def _few(samples: int) -> tuple[str, ...]:
    if samples >= _FEW_SAMPLES:
        return ()
    what = "one sample shows" if samples == 1 else f"{samples} samples show"
    return (f"{what} little of the ranges of values; use some hundred",)


def _right(made: Quantized) -> tuple[str, ...]:
    if made.same_class is None:
        return ()
    same = ("", f"same class as float  {made.same_class:.1%} of the calibration samples")
    if made.float_right is None or made.int8_right is None:
        return same
    return (
        *same,
        f"right, float         {made.float_right:.1%}",
        f"right, int8          {made.int8_right:.1%}",
    )
