"""`deploy cache` shows and empties the caches of earlier commands."""

from __future__ import annotations

import argparse

from deploy.cli.help_page import add_json

EXAMPLE = """
deploy cache
deploy cache --keep 0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        metavar="N",
        type=int,
        help="Delete all but the N builds used last. Deleted ones are built again if needed",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    from deploy.cli.console import print_answer
    from deploy.devices.cache_page import cache

    print_answer(arguments.json, cache(arguments.keep))
