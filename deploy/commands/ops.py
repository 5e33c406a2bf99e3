"""`deploy ops` lists what is supported, from the tables that the compiler works with."""

from __future__ import annotations

import argparse

from deploy.console import print_answer

EXAMPLE = """
deploy ops
deploy ops Gemm
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="OPERATOR",
        nargs="?",
        help="only this operator of a format, or op: Gemm, FULLY_CONNECTED, dense; with its limits",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, limits included")


def run(arguments: argparse.Namespace) -> None:
    from deploy.lists import ops

    print_answer(arguments.json, ops(arguments.name))
