"""`deploy ops` lists what is supported, from the tables that the compiler works with."""

from __future__ import annotations

import argparse

from deploy.console import print_result

EXAMPLE = "deploy ops --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, limits included")


def run(arguments: argparse.Namespace) -> None:
    from deploy.op_facts import op_facts, op_text

    print_result(arguments.json, op_facts(), op_text())
