"""`deploy build` makes firmware of a project's sources with a compiler for its board."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from deploy import options
from deploy.console import print_result
from deploy.firmware import build_project, project_board
from platforms.base import BuildChoices, Firmware
from platforms.elf import ProgramSizes, sizes
from platforms.folder import read_project
from platforms.stack_depth import StackDepth, run_stack

EXAMPLE = """
deploy build kws-firmware
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_dry_run(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    board, platform = project_board(arguments.directory)
    if arguments.dry_run:
        commands = platform.commands(arguments.directory, board, BuildChoices(arguments.toolchain))
        lines = [shlex.join(argv) for argv in commands.all]
        folder = shlex.quote(str(arguments.directory))
        print_result(
            arguments.json, {"folder": folder, "commands": lines}, "\n".join([f"cd {folder}", *lines])
        )
        return
    firmware = build_project(platform, arguments.directory, board, BuildChoices(arguments.toolchain))
    taken, stack = sizes(firmware.elf), run_stack(firmware, read_project(arguments.directory).name)
    print_result(arguments.json, _facts(firmware, taken, stack), _text(firmware, taken, stack))


def _facts(firmware: Firmware, taken: ProgramSizes, stack: StackDepth | None) -> dict[str, Any]:
    return {
        "firmware": str(firmware.elf),
        "toolchain": str(firmware.toolchain),
        "flash_bytes": taken.flash,
        "ram_bytes": taken.ram,
        "run_stack_bytes": stack.bytes if stack else None,
    }


def _text(firmware: Firmware, taken: ProgramSizes, stack: StackDepth | None) -> str:
    lines = [
        f"{firmware.elf}: {taken.flash:,} bytes of flash, {taken.ram:,} bytes of RAM",
        f"  compiled by {firmware.toolchain}",
    ]
    if stack:
        lines.append(f"  a run takes {stack.bytes:,} bytes of stack at most, in {' > '.join(stack.calls)}")
    return "\n".join(lines)
