"""`deploy new-accelerator` creates a package with a working accelerator to start from."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.accelerators.names import EXAMPLES
from deploy.cli import options
from deploy.cli.console import print_answer

EXAMPLE = """
deploy new-accelerator my_npu --like strawberry
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="Small letters, digits and _; used in Python and C")
    parser.add_argument("directory", metavar="DIR", type=Path, nargs="?", help="New or empty folder [NAME]")
    parser.add_argument(
        "--like",
        choices=EXAMPLES,
        default="vanilla",
        help="Example to start from [vanilla]. vanilla: one call per layer; strawberry: packed weights, "
        "scratch, "
        "fused layers; chocolate: a device that works in parallel",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    from deploy.accelerator_package.write import new_accelerator

    print_answer(arguments.json, new_accelerator(arguments.name, arguments.directory, arguments.like))
