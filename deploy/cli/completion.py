"""Completes command lines in shells: commands, options, boards, values of options, files.

A shell calls it on each key press, so only the command being typed is loaded.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from argcomplete.completers import FilesCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.shell_integration import shellcode

from deploy.cli.command import PROGRAM, load_command
from deploy.cli.commands import COMMANDS

Complete = Callable[..., Any]


def script_for(shell: str) -> str:
    """Returns the script that enables completion in a shell."""
    return shellcode([PROGRAM], shell=shell)


def answer() -> None:
    """Prints completions for the command line in the environment, and exits."""
    parser = _parser(_words(os.environ.get("COMP_LINE", "")))
    CompletionFinder()(parser, always_complete_options="long")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an unfinished quote, common while typing
        return line.split()


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Returns a parser with all commands; only the one being typed has arguments."""
    top = argparse.ArgumentParser(PROGRAM)
    inner = top.add_subparsers()
    written = words[1] if len(words) > 1 else ""
    for name, summary in COMMANDS.items():
        parser = inner.add_parser(name, help=summary)
        if name == written:
            load_command(name).add_arguments(parser)
            _add_completers(parser)
    return top


def _add_completers(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _add_completers(inner)
            continue
        complete = _completer(action)
        if complete is not None:
            action.completer = complete  # type: ignore[attr-defined]


def _completer(action: argparse.Action) -> Complete | None:
    """Returns a completer for the option's metavar, or None for any file."""
    placeholder = action.metavar if isinstance(action.metavar, str) else ""
    if placeholder == "B":
        return _boards
    if placeholder.startswith("{"):
        return _one_of(placeholder.strip("{}").split(","))
    suffixes = [suffix for word, known in _FILES.items() if word in placeholder for suffix in known]
    return FilesCompleter(suffixes) if suffixes else None


_FILES: Mapping[str, Sequence[str]] = {
    "MODEL": ("tflite", "onnx"),
    ".onnx": ("onnx",),
    ".tar": ("tar",),
    ".npz": ("npz",),
    ".npy": ("npy",),
    ".json": ("json",),
}


def _one_of(words: Sequence[str]) -> Complete:
    return lambda **_asked: list(words)


def _boards(**_asked: Any) -> list[str]:
    from platforms.board_files import all_boards  # slow to import

    return [board.name for board in all_boards()]
