"""`deploy report` writes a page about a model: does it fit, what uses resources, what would help."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.job import import_model
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.inputs.input_options import DATA
from deploy.inputs.samples import read_arrays
from deploy.reporting.attempt import Measuring
from deploy.reporting.model_report import require_report_place
from deploy.reporting.request import Asked, boards_of, read_subject, report_on

EXAMPLE = """
deploy report kws.tflite --board mps2-an386 --measure -o report.html
deploy report kws.tflite --board nucleo-l4r5zi --data labelled.npz -o r.md
deploy report kws.tflite --board nano-33-ble -o kws.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser)
    options.add_output(
        parser, "FILE", "Write .html, .md, .json or .svg (a badge) instead of printing Markdown"
    )
    parser.add_argument(
        "--measure", action="store_true", help="Measure cycles in an emulator, of other options, too"
    )
    data = options.group(parser, "Inputs and outputs")
    data.add_argument(
        "--data",
        metavar="FILE.npz",
        type=Path,
        help='Inputs by name and their classes, "labels": show accuracy and values of layers',
    )
    data.add_argument(
        "--float-model",
        metavar="MODEL",
        type=Path,
        help="The float model before quantization: show each layer's error. Needs --data",
    )
    options.add_option(parser, DATA["quantize"])
    options.add_boards(parser, required=False)
    options.add_toolchain(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.output:
        require_report_place(arguments.output)
    known = options.compile_options(arguments)
    asked = Asked(
        boards=boards_of(arguments.board or (), arguments.model),
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
