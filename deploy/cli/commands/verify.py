"""`deploy verify` compares a board's outputs with the reference and names the first layer that differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.cli import options
from deploy.cli.console import print_result
from deploy.compiler.compile_model import compile_for
from deploy.devices.firmware import on_emulator, prepare, with_archive
from deploy.inputs.input_options import Fill, read_data
from deploy.inputs.samples import RANDOM_RUNS, RANDOM_SAMPLES, read_arrays
from deploy.verification.oracles import CHOICES
from deploy.verification.quality import Truth, read_labels
from deploy.verification.verify_model import require_graph, verify_model, verify_sizes

EXAMPLE = """
deploy verify kws.tflite --board mps2-an386 --layers
deploy verify kws.tflite --board mps2-an386 --inputs x.npz --labels y.npy
deploy verify kws.tflite --board host --oracle tflm
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser, dest="source")
    data = options.group(parser, "Inputs and outputs")
    data.add_argument(
        "--inputs",
        metavar="FILE",
        type=Path,
        help=f"Inputs, as for 'deploy run' [random]. Random are {RANDOM_SAMPLES} samples: centered, far off, "
        f"a step; with states {RANDOM_RUNS} in a row",
    )
    options.add_data(parser)
    options.add_model_name(data)
    checks = options.group(parser, "What is compared")
    checks.add_argument(
        "--layers", action="store_true", help="Compare every layer; name the first that differs"
    )
    checks.add_argument(
        "--labels", metavar="FILE.npy", type=Path, help="Classes of the samples: print accuracy"
    )
    checks.add_argument(
        "--expected",
        metavar="FILE.npz",
        type=Path,
        help="Expected outputs by name: print RMSE, MAE, cosine",
    )
    checks.add_argument(
        "--oracle",
        choices=CHOICES,
        help="Also compare with another runtime on this computer [the installed one that has the model's "
        "rounding]. litert: LiteRT's reference kernels; tflm: TensorFlow Lite Micro; ort: ONNX Runtime; none",
    )
    options.add_board(parser, required=False, instead=". An archive or a project has its own")
    options.add_emulated(parser)
    options.add_line(parser)
    options.add_build(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    known = options.compile_options(arguments)
    prepared = with_archive(prepare(arguments.source, arguments.board, known, compile_for))
    prepared = on_emulator(prepared, arguments.platform) if arguments.emulated else prepared
    if arguments.model:
        require_graph(prepared)
        prepared = prepared.for_model(arguments.model)
    data, truth, given = options.data_options(arguments), _truth(arguments), arguments.inputs
    line, build, oracle = options.line_options(arguments), options.build_choices(arguments), arguments.oracle
    count = RANDOM_RUNS if prepared.keeps_state else RANDOM_SAMPLES
    verdict = verify_sizes(
        prepared,
        read_arrays(given) if given and len(prepared.each_size) > 1 else None,
        lambda specs: read_data(given, data, specs, count, Fill.RANDOM, prepared.front),
        lambda at, samples: verify_model(at, samples, arguments.layers, build, line, truth, oracle),
        truth,
    )
    print_result(arguments.json, verdict.as_json(), str(verdict))
    verdict.require_equal()


def _truth(arguments: argparse.Namespace) -> Truth:
    return Truth(
        read_labels(arguments.labels) if arguments.labels else None,
        read_arrays(arguments.expected) if arguments.expected else None,
    )
