"""The error of somebody who uses the language wrongly, with the line of their program."""

from __future__ import annotations

import traceback
from pathlib import Path

from aot.errors import InputError

_CODEGEN = Path(__file__).parent.parent
_OURS = (_CODEGEN, _CODEGEN.parent / "deploy", _CODEGEN.parent / "solder")


def misuse(what: str, hint: str = "") -> InputError:
    """The error to raise; it names the innermost line that is not ours."""
    return InputError(what, line_of_user(), hint)


def line_of_user() -> str:
    """The innermost line that is not ours; empty where there is none."""
    for frame in reversed(traceback.extract_stack()[:-1]):
        is_ours = any(folder in Path(frame.filename).parents for folder in _OURS)
        if not is_ours and not frame.filename.startswith("<frozen"):
            line = f": {frame.line}" if frame.line else ""  # at a prompt there is none
            return f"{frame.filename}:{frame.lineno}{line}"
    return ""
