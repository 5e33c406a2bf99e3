"""`deploy build` builds firmware from a project with a compiler for its board."""

from __future__ import annotations

import argparse

from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.devices.projects import build

EXAMPLE = """
deploy build kws-firmware
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_dry_run(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    print_answer(arguments.json, build(arguments.directory, arguments.toolchain, arguments.dry_run))
