"""`deploy verify` compares a board's outputs with the reference's and names the first layer that differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.job import import_model
from deploy import options
from deploy.compiling import Compiled, compile_for
from deploy.console import print_result
from deploy.samples import RANDOM_SAMPLES, Samples, random_samples, read_samples
from deploy.verifying import verify_model
from platforms.board_files import load_board

EXAMPLE = """
deploy verify kws.tflite --board mps2-an386 --layers
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
    options.add_compile_options(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    chosen = options.compile_options(arguments)
    compiled = compile_for(import_model(arguments.model, chosen), load_board(arguments.board), chosen)
    samples = _samples(arguments.inputs, compiled)
    line = options.line_options(arguments)
    verdict = verify_model(compiled, samples, arguments.layers, arguments.toolchain, line)
    print_result(arguments.json, verdict.as_json(), str(verdict))
    verdict.require_equal()


def _samples(path: Path | None, compiled: Compiled) -> Samples:
    specs = compiled.artifact.facts.inputs
    return read_samples(path, specs) if path else random_samples(specs, RANDOM_SAMPLES)
