"""Loads a command and makes its parser. Loading one command loads no other."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

from deploy.commands import COMMANDS
from deploy.parser import Parser

PROGRAM = "deploy"
_TOP_HELP = """\
usage: deploy COMMAND ...

Neural networks onto microcontrollers, ahead of time: a model file and a board's name become firmware.

commands:
{commands}
  help      explains a command, as deploy COMMAND --help does, or an error: deploy help E301

options:
  --version   prints the version

example:
  deploy run model.tflite --board mps2-an386 --inputs in.npz --output out.npz

exit status: 0 success, 1 an error that you can put right, 2 wrong usage, 70 a bug in Solder,
             130 interrupted, 141 the reader of the output has gone
"""


class Command(Protocol):
    """The interface of a module in deploy.commands."""

    EXAMPLE: str  # command lines

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> None:
        """Runs the command. Raises DeployError for what the user can put right."""


def load_command(name: str) -> Command:
    return cast(Command, import_module(f"deploy.commands.{name.replace('-', '_')}"))


def top_help() -> str:
    width = max(map(len, COMMANDS)) + 1
    lines = (f"  {name:{width}} {summary}" for name, summary in COMMANDS.items())
    return _TOP_HELP.format(commands="\n".join(lines))


def command_parser(name: str, command: Command) -> Parser:
    summary = COMMANDS[name]
    example = "".join(f"  {line}\n" for line in command.EXAMPLE.strip().splitlines())
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show each command line that is run")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    command.add_arguments(parser)
    return parser
