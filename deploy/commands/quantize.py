"""`deploy quantize` makes an int8 model, ONNX or TFLite, of float ONNX and samples, and reports the loss."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

from aot.counted import counted
from aot.errors import OutputError
from artifact.memory_text import shortened
from artifact.whole_file import write_whole
from codegen.options import OPTIONS
from deploy import options
from deploy.calibration import LABELS, read_calibration
from deploy.console import print_result, progress, table
from deploy.files import require_place
from deploy.quantizing import METHODS, Quantized, as_tflite, model_specs, quantize, with_integers_outside

EXAMPLE = """
deploy quantize kws.onnx --data calibration.npz -o kws_int8.onnx
"""
_WIDEST_NAME = 60
_FEW_SAMPLES = 10  # fewer are warned of
_SUFFIXES = (".onnx", ".tflite")
_ONNX_QUANTISER = "onnx.quantize"  # what ONNX Runtime's calls itself


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.onnx", type=Path, help="a float model")
    parser.add_argument(
        "--data",
        metavar="CALIB.npz",
        type=Path,
        required=True,
        help=f'samples by input name, the first axis counts them; "{LABELS}" holds their classes if known',
    )
    parser.add_argument(
        "-o",
        metavar="INT8",
        dest="output",
        type=Path,
        required=True,
        help="the file to write: .onnx or .tflite",
    )
    parser.add_argument(
        "--method", choices=tuple(METHODS), default="minmax", help="how ranges are chosen from the samples"
    )
    parser.add_argument(
        "--io",
        choices=("float32", "int8"),
        default="float32",
        help="the type of inputs and outputs; int8 spares the board the conversion (default: float32)",
    )
    options.add_option(parser, OPTIONS["shape"])
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    _require_known_name(arguments.output)
    require_place(arguments.output, _is_quantised, "a model that was quantised before")
    shapes = options.compile_options(arguments).shapes
    slots = model_specs(arguments.model, shapes)
    calibration = read_calibration(arguments.data, slots)
    with progress("quantizing", 1) as bar:
        bar.step(f"{arguments.model.name} with {counted(len(calibration.samples), 'sample')}")
        made = quantize(arguments.model, calibration, arguments.method, shapes)
    if arguments.io == "int8":
        made = with_integers_outside(made, arguments.model)
    if arguments.output.suffix == ".tflite":
        made = replace(made, data=as_tflite(made.data, slots, arguments.output.name))
    write_whole(arguments.output, made.data)
    print_result(
        arguments.json,
        _facts(made, arguments.output),
        _text(made, arguments.output, len(calibration.samples), arguments.method),
    )


def _is_quantised(path: Path) -> bool:
    """True where the file has the name that its quantiser writes into it."""
    from aot.frontend.tflite.write import WRITTEN_BY

    return (WRITTEN_BY if path.suffix == ".tflite" else _ONNX_QUANTISER).encode() in path.read_bytes()


def _require_known_name(path: Path) -> None:
    if path.suffix not in _SUFFIXES:
        raise OutputError(
            f"the int8 model is written as ONNX or TFLite, not as {path.suffix or 'a file without a suffix'}",
            str(path),
            " or ".join(f"-o {path.with_suffix(suffix)}" for suffix in _SUFFIXES),
        )


def _facts(made: Quantized, path: Path) -> dict[str, object]:
    return {
        "model": str(path),
        "bytes": len(made.data),
        "float_bytes": made.float_bytes,
        "edges": [asdict(edge) for edge in made.edges],
        "same_class": made.same_class,
        "float_right": made.float_right,
        "int8_right": made.int8_right,
        "layers": [asdict(layer) for layer in made.layers],
    }


def _text(made: Quantized, path: Path, samples: int, method: str) -> str:
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
            *_warning(samples),
            "",
            table(heads, rows),
            *_right(made),
            *_edges(made),
        )
    )


def _edges(made: Quantized) -> tuple[str, ...]:
    """Explains how callers convert real numbers to the model's integers and back."""
    if not made.edges:
        return ()
    rows = [
        ("input" if edge.is_input else "output", edge.name, f"{edge.scale:.9g}", str(edge.zero_point))
        for edge in made.edges
    ]
    return ("", table(("int8", "name", "scale", "zero point"), rows), "real = scale * (integer - zero point)")


def _warning(samples: int) -> tuple[str, ...]:
    if samples >= _FEW_SAMPLES:
        return ()
    what = "one sample says" if samples == 1 else f"{samples} samples say"
    return (f"warning: {what} little of the ranges of values; take some hundred",)


def _right(made: Quantized) -> tuple[str, ...]:
    if made.same_class is None:
        return ()
    same = ("", f"same class as float  {made.same_class:.1%} of the samples")
    if made.float_right is None or made.int8_right is None:
        return same
    return (
        *same,
        f"right, float         {made.float_right:.1%}",
        f"right, int8          {made.int8_right:.1%}",
    )
