"""deploy inspect: operators, shapes, MACs, and whether it fits: memory by memory, the peak named by layer."""

from __future__ import annotations

import argparse
from pathlib import Path

from boards.load import load_board
from deploy import options
from deploy.console import print_result
from deploy.inspecting import inspect_file
from deploy.settings import compile_options

EXAMPLE = """
deploy inspect kws.tflite --board mps2-an386 --layers
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="MODEL|OUT.tar", type=Path, help="a .tflite or .onnx file, or an archive"
    )
    options.add_board(parser, required=False, instead="; without one nothing is said of fitting")
    parser.add_argument("--layers", action="store_true", help="also a line for each layer")
    parser.add_argument("--memory", action="store_true", help="also a map of the arena over time")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="draw that map as a picture into a file")
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    board = load_board(arguments.board) if arguments.board is not None else None
    found = inspect_file(arguments.file, board, compile_options(arguments))
    if arguments.svg:
        found.draw(arguments.svg)
    print_result(
        arguments.json, found.as_json(arguments.memory), found.page(arguments.layers, arguments.memory)
    )
