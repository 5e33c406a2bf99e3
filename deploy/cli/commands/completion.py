"""`deploy completion` prints a script that makes a shell complete deploy's command lines."""

from __future__ import annotations

import argparse

EXAMPLE = """
deploy completion bash >> ~/.bash_completion
deploy completion fish > ~/.config/fish/completions/deploy.fish
"""
_SHELLS = ("bash", "zsh", "fish", "powershell")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, help="Your shell")


def run(arguments: argparse.Namespace) -> None:
    from deploy.cli.completion import script_for

    print(script_for(arguments.shell).rstrip())
