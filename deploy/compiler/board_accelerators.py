"""Adds defaults from the board file to the user's accelerator options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.options import CompileOptions

if TYPE_CHECKING:
    from boards.board import Board


def options_on(board: Board, options: CompileOptions) -> CompileOptions:
    """Returns the options, with the board's defaults for requested accelerators without options."""
    words = tuple(_completed(word, board.accelerators) for word in options.accelerators)
    return options if words == options.accelerators else replace(options, accelerators=words)


def _completed(word: str, known: Mapping[str, Mapping[str, str]]) -> str:
    name, _, settings = word.partition(":")
    given = [setting for setting in settings.split(",") if setting]
    named = {setting.partition("=")[0] for setting in given}
    added = [f"{key}={value}" for key, value in known.get(name, {}).items() if key not in named]
    return f"{name}:{','.join([*given, *added])}" if added else word
