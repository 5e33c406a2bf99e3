"""`deploy explore` evaluates all combinations of models, boards and options, and marks the best."""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.cli import options
from deploy.cli.console import print_result
from deploy.exploring.exploration import require_exploration_place
from deploy.exploring.run import ALL, ExploreRequest, all_options, explore, read_varied
from deploy.inputs.input_options import DATA
from deploy.inputs.samples import read_arrays
from deploy.reporting.attempt import Measuring

EXAMPLE = """
deploy explore kws.tflite --vary optimize=speed,ram --vary stream -o x.html
deploy explore kws.tflite --board nano-33-ble --measure --kept explored.jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", type=Path, help="A .tflite or .onnx file")
    options.add_output(parser, "FILE", "Write all results: .html, .csv or .json")
    what = options.group(parser, "Exploration")
    what.add_argument(
        "--vary",
        metavar="OPTION[=V,V]",
        action="append",
        default=[],
        help="Try these values of an option: optimize=speed,ram. A switch alone is tried off and on: stream",
    )
    what.add_argument("--measure", action="store_true", help="Measure cycles in an emulator (slow)")
    what.add_argument(
        "--rate", metavar="HZ", type=float, help="With --measure: name the smallest board that is this fast"
    )
    what.add_argument(
        "--kept",
        metavar="FILE.jsonl",
        type=Path,
        help="Keep results here, and continue from them",
    )
    what.add_argument(
        "-j", "--jobs", metavar="N", type=options.count, help="Number of processes [one per core]"
    )
    what.add_argument("--farm", metavar="ADDRESS", help="Work on a Dask cluster instead")
    options.group(parser, "Inputs and outputs").add_argument(
        "--data",
        metavar="FILE.npz",
        type=Path,
        help='Inputs by name and their classes, "labels": show accuracy',
    )
    options.add_option(parser, DATA["quantize"])
    options.add_boards(parser, default="all")
    options.add_toolchain(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.output:
        require_exploration_place(arguments.output)
    chosen = options.compile_options(arguments)
    found = explore(
        ExploreRequest(
            models=tuple(arguments.models),
            boards=tuple(arguments.board or (ALL,)),
            options=tuple(all_options(chosen, read_varied(arguments.vary))),
            measuring=Measuring(arguments.toolchain) if arguments.measure else None,
            rate_hz=arguments.rate,
            data=read_arrays(arguments.data) if arguments.data else None,
            quantize=options.data_options(arguments).quantize,
            kept=arguments.kept,
            jobs=arguments.jobs,
            farm=arguments.farm,
        )
    )
    if arguments.output:
        found.save(arguments.output)
    print_result(arguments.json, found.as_json(), str(found))
