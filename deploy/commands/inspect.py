"""`deploy inspect` shows operators, shapes and MACs, whether each memory suffices, and the peak's layer."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import InputError
from deploy import options
from deploy.choosing import board_or_target
from deploy.console import print_result
from deploy.inspecting import inspect_file
from deploy.layer_view import TEXTS, USUAL
from deploy.print_after import print_after, printed_if_refused

EXAMPLE = """
deploy inspect kws.tflite --board mps2-an386 --layers
deploy inspect kws.tflite --board mps2-an386 --layer 3 --ir
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="MODEL|OUT.tar", type=Path, help="a .tflite or .onnx file, or an archive"
    )
    options.add_board_or_target(
        parser,
        required=False,
        instead="; exit status 1 where the model does not fit; without a board, fitting is not checked",
    )
    parser.add_argument("--layers", action="store_true", help="also show a line for each layer")
    parser.add_argument("--memory", action="store_true", help="also show a map of the arena over time")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="draw that map as a picture into a file")
    parser.add_argument(
        "--layer",
        metavar="N",
        help="show one layer instead, by its number or name: its node, loops and C, or what is chosen here",
    )
    for name, title in TEXTS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"of that layer, show the {title}")
    options.add_explain(parser)
    options.add_print_after(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    shown = [name for name in TEXTS if getattr(arguments, name)]
    if shown and arguments.layer is None:
        raise InputError(f"--{shown[0]} shows a layer, and none is named", hint="add --layer N")
    board = board_or_target(arguments.board, arguments.target)
    chosen = options.compile_options(arguments)
    with printed_if_refused(arguments.file, chosen, arguments.print_after):
        found = inspect_file(arguments.file, board, chosen)
    if arguments.svg:
        found.draw(arguments.svg)
    if arguments.print_after:
        print_after(found.steps_of(arguments.print_after), arguments.print_after)
    steps = found.steps_of(arguments.explain) if arguments.explain else ()
    if arguments.layer is not None:
        view = found.layer(arguments.layer)
        print_result(arguments.json, view.facts(shown or USUAL), view.page(shown or USUAL), is_code=True)
        return
    print_result(
        arguments.json,
        found.as_json(arguments.memory, steps),
        found.page(arguments.layers, arguments.memory, steps),
    )
    found.require_fit()
