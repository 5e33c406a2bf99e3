"""`deploy quantize` converts a float model to int8 ONNX or TFLite, and reports the loss."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import OPTIONS
from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.quantization.activation_widths import ACTIVATIONS
from deploy.quantization.calibration import LABELS
from deploy.quantization.onnx_quantizer import METHODS, WEIGHTS
from deploy.quantization.quantize_file import IO_TYPES, METHOD, quantize

EXAMPLE = """
deploy quantize kws.onnx --data calibration.npz -o kws_int8.onnx
deploy quantize k.onnx --data c.npz --weight-type mixed --flash 9K -o q.tflite
deploy quantize kws.onnx --data c.npz --refine -o q.tflite
deploy quantize kws.onnx --data c.npz --activation-type int16 -o q.tflite
deploy quantize stories.onnx --activation-type dynamic -o stories_int8.onnx
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="A float model, ONNX or TFLite")
    parser.add_argument(
        "--data",
        metavar="FILE.npz",
        type=Path,
        help=f'Samples by input name. The first axis counts them; "{LABELS}" holds their classes, if known. '
        "Not needed for --activation-type dynamic",
    )
    options.add_output(parser, "FILE", "File to write: .onnx or .tflite", required=True)
    parser.add_argument(
        "--method",
        choices=tuple(METHODS),
        default=METHOD,
        help="How ranges are chosen from samples [minmax]",
    )
    parser.add_argument(
        "--refine",
        action="store_true",
        help="Also try balanced channels and corrected biases. Whatever brings the outputs of the samples "
        "nearest is kept",
    )
    types = options.group(parser, "Types")
    types.add_argument(
        "--io-type",
        choices=IO_TYPES,
        default="float32",
        help="Type of inputs and outputs [float32]. int8 saves the conversion on the board. With "
        "--activation-type dynamic it is the type of caches of keys and values",
    )
    types.add_argument(
        "--weight-type",
        choices=WEIGHTS,
        default=WEIGHTS[0],
        help="Weights of convolutions and dense layers [int8]. int4 needs half the flash on a Cortex-M4, "
        "M33 or "
        "M55; mixed uses int4 in the layers that lose least",
    )
    types.add_argument(
        "--activation-type",
        choices=ACTIVATIONS,
        default=ACTIVATIONS[0],
        help="Values between layers [int8]. mixed uses int16 for those that lose most, as many as "
        "--signal-to-noise needs; dynamic keeps floats and stores weights of matrix products in few bits",
    )
    types.add_argument(
        "--flash",
        metavar="BYTES",
        type=options.size,
        help="Flash budget of mixed weights: 65536, 64KB, 1MB",
    )
    types.add_argument(
        "--signal-to-noise",
        metavar="DB",
        type=float,
        help="Decibels to keep above the error of mixed types, such as 30. For weights it is the error of "
        "four "
        "bits, for activations that of the whole model",
    )
    options.add_option(parser, OPTIONS["shape"])
    options.add_option(parser, OPTIONS["state"])
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    given = options.compile_options(arguments)
    answer = quantize(
        arguments.model,
        arguments.data,
        arguments.output,
        arguments.method,
        arguments.io_type,
        given.shapes,
        arguments.weight_type,
        arguments.flash,
        arguments.signal_to_noise,
        arguments.refine,
        arguments.activation_type,
        state=[f"{name}={becomes}" if becomes else name for name, becomes in given.states.items()],
    )
    print_answer(arguments.json, answer)
