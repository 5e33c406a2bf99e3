"""`deploy accelerators` lists the accelerators and the ops that each computes."""

from __future__ import annotations

import argparse

from deploy.cli.console import print_answer
from deploy.cli.help_page import add_json

EXAMPLE = "deploy accelerators --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    from deploy.cli.lists import accelerators

    print_answer(arguments.json, accelerators())
