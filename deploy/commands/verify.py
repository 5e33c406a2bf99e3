"""`deploy verify` compares a board's outputs with the reference's and names the first layer that differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.job import import_model
from deploy import options
from deploy.compiling import compile_for
from deploy.console import print_result
from deploy.data import Fill, read_data
from deploy.oracles import ORACLES
from deploy.quality import Truth, read_labels
from deploy.samples import RANDOM_SAMPLES, read_arrays
from deploy.verifying import verify_model
from deploy.verifying_sizes import verify_sizes
from platforms.board_files import load_board

EXAMPLE = """
deploy verify kws.tflite --board mps2-an386 --layers
deploy verify kws.tflite --board mps2-an386 --inputs x.npz --labels y.npy
deploy verify kws.tflite --board host --oracle tflm
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_board(parser)
    parser.add_argument(
        "--inputs",
        metavar="IN.npz",
        type=Path,
        help=f"as for deploy run; else {RANDOM_SAMPLES} random samples",
    )
    parser.add_argument(
        "--layers", action="store_true", help="compare every layer, name the first that differs"
    )
    parser.add_argument(
        "--labels", metavar="Y.npy", type=Path, help="the samples' classes: prints accuracy and confusion"
    )
    parser.add_argument(
        "--expected",
        metavar="Z.npz",
        type=Path,
        help="outputs by name, or output_0, ..., for all samples: prints RMSE, MAE and cosine",
    )
    parser.add_argument(
        "--oracle",
        choices=ORACLES,
        help="also compare with what LiteRT's reference kernels, TensorFlow Lite Micro or ONNX Runtime make "
        "of the model's file on this computer",
    )
    options.add_data(parser)
    options.add_compile_options(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    chosen = options.compile_options(arguments)
    compiled = compile_for(import_model(arguments.model, chosen), load_board(arguments.board), chosen)
    front, data = compiled.artifact.facts.options.front, options.data_options(arguments)
    truth, line, given = _truth(arguments), options.line_options(arguments), arguments.inputs
    verdict = verify_sizes(
        compiled,
        read_arrays(given) if given and compiled.others else None,
        lambda specs: read_data(given, data, specs, RANDOM_SAMPLES, Fill.RANDOM, front),
        lambda whole, at, samples: verify_model(
            at, samples, arguments.layers, arguments.toolchain, line, truth, arguments.oracle, whole
        ),
        truth,
    )
    print_result(arguments.json, verdict.as_json(), str(verdict))
    verdict.require_equal()


def _truth(arguments: argparse.Namespace) -> Truth:
    return Truth(
        read_labels(arguments.labels) if arguments.labels else None,
        read_arrays(arguments.expected) if arguments.expected else None,
    )
