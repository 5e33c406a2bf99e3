"""Completes command lines in shells: commands, options, boards, the words that an option takes, files.

The shell asks on each press of the key, so only the command at hand is loaded.
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
    """The script that makes a shell ask."""
    return shellcode([PROGRAM], shell=shell)


def answer() -> None:
    """Answers the shell's question, which stands in the environment, and ends the program."""
    parser = _parser(_words(os.environ.get("COMP_LINE", "")))
    CompletionFinder()(parser, always_complete_options="long")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote is open, as one writes
        return line.split()


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, of which only the one that is written has arguments."""
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
    """Chooses by the placeholder in the help; None where any file will do."""
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
    from platforms.board_files import all_boards  # takes its time

    return [board.name for board in all_boards()]
