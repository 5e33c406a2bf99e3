"""`deploy quantize` makes an int8 model, ONNX or TFLite, of float ONNX and samples, and reports the loss."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import OPTIONS
from deploy import options
from deploy.activation_widths import ACTIVATIONS
from deploy.calibration import LABELS
from deploy.console import print_answer
from deploy.quantize_file import IO_TYPES, quantize
from deploy.quantizing import METHODS, WEIGHTS

EXAMPLE = """
deploy quantize kws.onnx --data calibration.npz -o kws_int8.onnx
deploy quantize kws.onnx --data c.npz --weights mixed --flash 9KB -o q.tflite
deploy quantize kws.onnx --data c.npz --refine -o q.tflite
deploy quantize kws.onnx --data c.npz --activations int16 -o q.tflite
"""


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
        choices=IO_TYPES,
        default="float32",
        help="the type of inputs and outputs; int8 spares the board the conversion (default: float32)",
    )
    parser.add_argument(
        "--weights",
        choices=WEIGHTS,
        default=WEIGHTS[0],
        help="the bits of weights of convolutions and dense layers: eight (the default), four, which take"
        " half the flash on a Cortex-M4, M33 or M55, or four where --flash needs it and that loses least",
    )
    parser.add_argument(
        "--activations",
        choices=ACTIVATIONS,
        default=ACTIVATIONS[0],
        help="the bits of values between layers: eight (the default), 16, or 16 only of those that lose most,"
        " as many as --signal-to-noise needs",
    )
    parser.add_argument(
        "--flash",
        metavar="BYTES",
        type=options.size,
        help="the flash that mixed weights may take: 65536, 64KB, 1MB",
    )
    parser.add_argument(
        "--signal-to-noise",
        metavar="DB",
        type=float,
        help="the decibels that outputs must stay above the error which four bits make of mixed weights,"
        " or, with mixed activations, above the error of the whole model: 30",
    )
    parser.add_argument(
        "--refine",
        action="store_true",
        help="try other weights for the same model, with channels whose ranges are alike and with corrected"
        " biases, and keep what brings the outputs of the samples nearest",
    )
    options.add_option(parser, OPTIONS["shape"])
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    answer = quantize(
        arguments.model,
        arguments.data,
        arguments.output,
        arguments.method,
        arguments.io,
        options.compile_options(arguments).shapes,
        arguments.weights,
        arguments.flash,
        arguments.signal_to_noise,
        arguments.refine,
        arguments.activations,
    )
    print_answer(arguments.json, answer)
