"""`deploy accelerators` lists what --accelerator can name, and the ops that each computes."""

from __future__ import annotations

import argparse

from deploy.console import print_answer

EXAMPLE = "deploy accelerators --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    from deploy.lists import accelerators

    print_answer(arguments.json, accelerators())
