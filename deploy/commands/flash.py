"""`deploy flash` puts a project's firmware onto its board; emulated boards load it when they start."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from boards.board import Board
from deploy import options
from deploy.console import print_result
from deploy.firmware import build_project, project_board
from platforms.base import BuildChoices
from platforms.runners.runner import choose_dry, choose_runner, emulator_named, flash_commands, run_all

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
    board, platform = project_board(arguments.directory)
    choose = choose_dry if arguments.dry_run else choose_runner
    chosen = options.line_options(arguments)
    name = choose(board, chosen.runner)
    elf = platform.program(arguments.directory)
    if not arguments.dry_run:
        elf = build_project(platform, arguments.directory, board, BuildChoices(arguments.toolchain)).elf
    commands = flash_commands(name, elf, board, chosen.where)
    if not arguments.dry_run:
        run_all(commands)
    lines = [shlex.join(argv) for argv in commands]
    facts = {"firmware": str(elf), "runner": name, "commands": lines, "dry_run": arguments.dry_run}
    print_result(arguments.json, facts, "\n".join(lines) or _loads_itself(name, elf, board))


def _loads_itself(emulator: str, elf: Path, board: Board) -> str:
    start = shlex.join(emulator_named(emulator).argv(elf, board))
    return f"nothing to write: {emulator} loads {elf} when it starts\n  {start}"
