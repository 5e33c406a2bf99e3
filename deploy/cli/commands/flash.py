"""`deploy flash` writes firmware to a board; emulated boards load it at startup."""

from __future__ import annotations

import argparse

from codegen.options import OPTIONS
from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.devices.projects import flash

EXAMPLE = """
deploy flash kws-firmware --dry-run
deploy flash kws.tflite --board nucleo-f446re
"""
_LINE = ("runner", "serial", "port")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser)
    options.add_dry_run(parser)
    options.add_board(parser, required=False, instead=". An archive or a project has its own")
    options.add_emulated(parser)
    options.add_line(parser, _LINE, can_attach=False)
    options.add_build(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    answer = flash(
        arguments.model,
        arguments.board,
        arguments.toolchain,
        arguments.dry_run,
        arguments.platform,
        arguments.emulated,
        **options.given_options(arguments, (*OPTIONS, *_LINE)),
    )
    print_answer(arguments.json, answer)
