"""`deploy flash` writes a project's firmware to its board; emulated boards load it at startup."""

from __future__ import annotations

import argparse

from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.devices.projects import flash

EXAMPLE = """
deploy flash kws-firmware --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_line(parser, ("runner", "serial", "port"), can_attach=False)
    options.add_dry_run(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    chosen = options.line_options(arguments)
    line = {"runner": chosen.runner, "serial": chosen.serial, "port": chosen.port}
    print_answer(arguments.json, flash(arguments.directory, arguments.toolchain, arguments.dry_run, **line))
