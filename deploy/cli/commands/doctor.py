"""`deploy doctor` lists compilers and emulators on this machine, and how to install missing ones."""

from __future__ import annotations

import argparse

from deploy.cli.console import print_answer
from deploy.cli.options import add_json
from deploy.host_tools.doctor_page import doctor

EXAMPLE = """
deploy doctor
deploy doctor --board nano-33-ble
deploy doctor --fix
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--board", metavar="B", help="Report on this board only")
    either.add_argument(
        "--fix", action="store_true", help="Print the commands that install what is missing; run none"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    print_answer(arguments.json, doctor(arguments.board, arguments.fix))
