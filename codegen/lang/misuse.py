"""Errors for incorrect use of the language, with the line of the user's program."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from aot.errors import InputError

_CODEGEN = Path(__file__).parent.parent
_OURS = (_CODEGEN, _CODEGEN.parent / "deploy", _CODEGEN.parent / "solder")


def misuse(what: str, hint: str = "") -> InputError:
    """Returns the error to raise. It names the innermost line outside of this project."""
    return InputError(what, line_of_user(), hint)


def line_of_user() -> str:
    """Returns the innermost line outside of this project; empty if there is none."""
    for frame in reversed(traceback.extract_stack()[:-1]):
        is_ours = any(folder in Path(frame.filename).parents for folder in _OURS)
        if not is_ours and not frame.filename.startswith("<frozen"):
            line = f": {frame.line}" if frame.line else ""  # empty in an interactive session
            return f"{frame.filename}:{frame.lineno}{line}"
    return ""


T = TypeVar("T")


class NamedParts(dict[str, T]):
    """A mapping whose error for an unknown key lists the known ones."""

    def __init__(self, proc: str, what: str, found: Mapping[str, T]) -> None:
        super().__init__(found)
        self._proc, self._what = proc, what

    def __missing__(self, name: str) -> T:
        raise misuse(f"{self._proc} has no {self._what} {name}", f"{self._what}s: {', '.join(self)}")
