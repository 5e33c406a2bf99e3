"""Loads a command and builds its parser, without loading other commands."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

from deploy.cli.commands import COMMANDS, GROUPS
from deploy.cli.help_page import GENERAL, group
from deploy.cli.parser import Parser

PROGRAM = "deploy"
_TOP_HELP = """\
Usage: deploy COMMAND [OPTIONS]

Compile neural networks to C firmware for microcontrollers.

{groups}

Run 'deploy COMMAND -h' for the main options, '--help' for all of them,
'deploy help E301' for an error, 'deploy --version' for the version.
Example: deploy run kws.tflite --board mps2-an386 --fill random --print-top 3
"""


class Command(Protocol):
    """The interface of modules in deploy.cli.commands."""

    EXAMPLE: str  # command lines for the help

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> None:
        """Runs the command. Raises DeployError for problems that the user can fix."""


def load_command(name: str) -> Command:
    return cast(Command, import_module(f"deploy.cli.commands.{name.replace('-', '_')}"))


def top_help() -> str:
    groups = (
        "\n".join((title, *(f"  {name:15}  {summary}" for name, summary in commands.items())))
        for title, commands in GROUPS.items()
    )
    return _TOP_HELP.format(groups="\n\n".join(groups))


def command_parser(name: str, command: Command) -> Parser:
    parser = Parser(
        prog=f"{PROGRAM} {name}", description=f"{COMMANDS[name]}.", epilog=command.EXAMPLE.strip()
    )
    general = group(parser, GENERAL)
    general.add_argument("-q", "--quiet", action="store_true", help="Hide progress")
    general.add_argument("-v", "--verbose", action="store_true", help="Show every command that is run")
    command.add_arguments(parser)
    return parser
