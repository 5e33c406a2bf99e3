"""`deploy export` makes a package of a model that Arduino, PlatformIO, ESP-IDF, Conan and others take."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import OPTIONS
from deploy import options
from deploy.console import print_answer
from deploy.exporting import export
from platforms.channels import CHANNELS
from platforms.channels.package import PACKAGE

EXAMPLE = """
deploy export kws.tar --as arduino -o kws.zip
deploy export kws.tar --as cmsis-pack --author Acme -o kws.pack
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL|OUT.tar", type=Path, help="a .tflite or .onnx file, or an archive"
    )
    parser.add_argument(
        "--as", metavar="CHANNEL", dest="channel", choices=tuple(CHANNELS), required=True, help="the channel"
    )
    parser.add_argument(
        "-o",
        metavar="DIR|FILE",
        dest="output",
        type=Path,
        required=True,
        help="a new folder; or one file: .pack for cmsis-pack, .zip for the others",
    )
    for option in PACKAGE.values():
        options.add_option(parser, option)
    options.add_board_or_target(parser, required=False, instead="; for a model file")
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
