"""`deploy diff` compares two compiled models."""

from __future__ import annotations

import argparse
from pathlib import Path

from artifact.archive import read_archive
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.compiler.archive_diff import ArchiveDifference

EXAMPLE = """
deploy diff before.tar after.tar
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", metavar="A.tar", type=Path, help="A result of 'deploy compile'")
    parser.add_argument("other", metavar="B.tar", type=Path, help="Another one")
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    found = ArchiveDifference(read_archive(arguments.one), read_archive(arguments.other))
    print_result(arguments.json, found.as_json(), str(found))
