"""`deploy export` packages a model for Arduino, PlatformIO, ESP-IDF, Conan and others."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import OPTIONS
from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.compiler.export_package import export
from platforms.channels import CHANNELS
from platforms.channels.package import PACKAGE

EXAMPLE = """
deploy export kws.tar --as arduino -o kws.zip
deploy export kws.tar --as cmsis-pack --author Acme -o kws.pack
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL|ARCHIVE",
        type=Path,
        help="A .tflite or .onnx file, or a result of 'deploy compile'",
    )
    parser.add_argument(
        "--as",
        metavar="CHANNEL",
        dest="channel",
        choices=tuple(CHANNELS),
        required=True,
        help=f"Kind of package: {', '.join(CHANNELS)}",
    )
    options.add_output(
        parser,
        "DIR|FILE",
        "New folder, or one file: .pack for cmsis-pack, else .zip",
        required=True,
    )
    for option in PACKAGE.values():
        options.add_option(parser, option)
    options.add_board_or_target(parser, required=False, instead=". A model file needs one")
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    given = options.given_options(arguments, (*PACKAGE, *OPTIONS))
    answer = export(
        arguments.model,
        arguments.channel,
        arguments.output,
        arguments.board,
        arguments.target,
        **given,
    )
    print_answer(arguments.json, answer)
