"""deploy cache: what is kept between commands, and how much room it takes."""

from __future__ import annotations

import argparse

EXAMPLE = """
deploy cache
deploy cache --keep 0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        metavar="N",
        type=int,
        help="delete all but the N folders that were used last; what is gone is built again when needed",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    from deploy.cache_page import cache
    from deploy.console import print_answer

    print_answer(arguments.json, cache(arguments.keep))
