"""deploy flash: puts a project's firmware onto its board; emulated boards load it when they start."""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Sequence

from aot.errors import ToolError
from deploy import options
from deploy.console import print_result
from deploy.firmware import BuildChoices, build_project, project_board
from platforms.build import build_folder
from platforms.runners.runner import choose_runner, runner_named

EXAMPLE = """
deploy flash kws-firmware --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_runner(parser)
    options.add_dry_run(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    board, platform = project_board(arguments.directory)
    name = choose_runner(board, arguments.runner)
    runner = runner_named(name)
    elf = arguments.directory / build_folder(profile=False) / platform.program
    if not arguments.dry_run:
        elf = build_project(platform, arguments.directory, board, BuildChoices(arguments.toolchain)).elf
    commands = runner.flash_commands(elf, board)
    if not arguments.dry_run:
        for argv in commands:
            _run(argv)
    lines = [shlex.join(argv) for argv in commands]
    facts = {"firmware": str(elf), "runner": name, "commands": lines, "dry_run": arguments.dry_run}
    start = shlex.join(runner.argv(elf, board))
    text = "\n".join(lines) or f"nothing to write: {name} loads {elf} when it starts\n  {start}"
    print_result(arguments.json, facts, text)


def _run(argv: Sequence[str]) -> None:
    """What the program prints goes to stderr: stdout is for the result."""
    done = subprocess.run(argv, stdout=2, check=False)
    if done.returncode != 0:
        raise ToolError(
            f"{argv[0]} failed with exit status {done.returncode}",
            shlex.join(argv),
            "is the board connected and powered, and does no other program use it?",
        )
