"""`deploy bug-report` collects facts for a bug report, and nothing private."""

from __future__ import annotations

import argparse
from pathlib import Path

from artifact.whole_file import write_whole
from deploy.cli import options
from deploy.cli.bug_report import bug_report
from deploy.cli.console import print_result

EXAMPLE = """
deploy bug-report --structure kws.tflite -o report.md -- inspect kws.tflite
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", metavar="-- COMMAND", nargs="*", help="The command that went wrong; it is run again"
    )
    parser.add_argument(
        "--structure",
        metavar="FILE",
        type=Path,
        help="Add operators and shapes of this model, without weights and names",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="Write Markdown into a file instead of printing it"
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    found = bug_report(arguments.words, arguments.structure)
    if arguments.output:
        write_whole(arguments.output, f"{found.page}\n".encode())
    said = f"wrote {arguments.output}: read it before you send it" if arguments.output else found.page
    print_result(arguments.json, found.facts, said)
