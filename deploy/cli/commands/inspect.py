"""`deploy inspect` shows operators, shapes and MACs, whether the model fits, and the memory peak."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import InputError
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.cli.print_after import print_after, printed_if_refused
from deploy.compiler.board_or_target import board_or_target
from deploy.inspection.inspect_model import inspect_file
from deploy.inspection.layer_view import TEXTS, USUAL

EXAMPLE = """
deploy inspect kws.tflite --board mps2-an386 --layers
deploy inspect kws.tflite --board mps2-an386 --layer 3 --ir
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser, dest="file")
    show = options.group(parser, "What is shown")
    show.add_argument("--layers", action="store_true", help="A line for each layer")
    show.add_argument("--memory", action="store_true", help="A map of the arena over time")
    show.add_argument("--svg", metavar="FILE", type=Path, help="Draw that map into an SVG file")
    show.add_argument("--layer", metavar="N", help="One layer only, by number or name: node, loops and C")
    for name, title in TEXTS.items():
        show.add_argument(f"--{name}", action="store_true", help=f"With --layer: only the {title}")
    show.add_argument(
        "--plans",
        action="store_true",
        help="Show the speed that budgets of RAM and flash buy instead. With --svg, draw it",
    )
    options.add_board_or_target(parser, required=False, instead=". Exit status 1 if the model does not fit")
    options.add_compile_options(parser)
    options.add_explain(parser)
    options.add_print_after(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    from deploy.compiler.plan_offers import offers_facts, offers_page, offers_svg

    shown = [name for name in TEXTS if getattr(arguments, name)]
    if shown and arguments.layer is None:
        raise InputError(f"--{shown[0]} needs a layer", hint="add --layer N")
    board = board_or_target(arguments.board, arguments.target)
    chosen = options.compile_options(arguments)
    with printed_if_refused(arguments.file, chosen, arguments.print_after):
        found = inspect_file(arguments.file, board, chosen)
    if arguments.plans:
        offers = found.offers()
        if arguments.svg:
            found.draw(arguments.svg, offers_svg(offers))
        print_result(arguments.json, offers_facts(offers), offers_page(offers))
        return
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
