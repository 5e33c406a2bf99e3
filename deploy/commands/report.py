"""`deploy report` says of a model whether it fits boards, what needs what, what would help."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.job import import_model
from deploy import options
from deploy.console import print_result
from deploy.data import DATA
from deploy.reporting.asked import Asked, read_subject, report_on
from deploy.reporting.attempt import Measuring
from deploy.reporting.model_report import require_report_place
from deploy.samples import read_arrays
from platforms.board_files import load_board

EXAMPLE = """
deploy report kws.tflite --board mps2-an386 --measure -o report.html
deploy report kws.tflite --board nucleo-l4r5zi --data labelled.npz -o r.md
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL|OUT.tar", type=Path, help="a .tflite or .onnx file, or an archive"
    )
    options.add_boards(parser)
    parser.add_argument(
        "--data",
        metavar="LABELLED.npz",
        type=Path,
        help='inputs by name and, under "labels", their classes: shows accuracy and values of layers',
    )
    parser.add_argument(
        "--float-model",
        metavar="MODEL",
        type=Path,
        help="the model that this one was quantised from: with --data, each layer's distance to it is shown",
    )
    options.add_option(parser, DATA["quantize"])
    parser.add_argument(
        "--measure", action="store_true", help="measure cycles in an emulator, of other options too"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write a web page (.html), Markdown (.md) or JSON (.json), instead of printing Markdown",
    )
    options.add_compile_options(parser)
    options.add_toolchain(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.output:
        require_report_place(arguments.output)
    known = options.compile_options(arguments)
    asked = Asked(
        boards=tuple(load_board(name) for name in arguments.board),
        arrays=read_arrays(arguments.data) if arguments.data else None,
        where=arguments.data.name if arguments.data else "",
        quantize=options.data_options(arguments).quantize,
        float_model=import_model(arguments.float_model, known) if arguments.float_model else None,
        measuring=Measuring(arguments.toolchain) if arguments.measure else None,
    )
    found = report_on(read_subject(arguments.model, known), asked, known)
    if arguments.output:
        found.save(arguments.output)
    page = f"{found.summary()}\nwrote {arguments.output}" if arguments.output else str(found).rstrip()
    print_result(arguments.json, found.as_json(), page)
