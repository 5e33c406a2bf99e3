"""The line of the user's own program in which something failed or is written."""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


def is_users(file: str) -> bool:
    """True for a file that belongs to no installed package."""
    is_code = not file.startswith("<") and Path(file).suffix == ".py"
    ours = Path(__file__).parents[2]
    return is_code and not file.startswith(_INSTALLED) and ours / "deploy" not in Path(file).parents


def last_users_frame(error: BaseException) -> tuple[FrameType, int] | None:
    """The innermost frame of an error's traceback that is the user's, and its line."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(frame, line) for frame, line in frames if is_users(frame.f_code.co_filename)]
    return own[-1] if own else None


def line_text(file: str, line: int) -> str:
    return f"{Path(file).name}, line {line}"


def defined_at(thing: Any) -> str:
    """The line where a function or a class of the user's begins; "" for what is installed."""
    try:
        file, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
    except (OSError, TypeError):
        return ""
    return line_text(file, line) if file and is_users(file) else ""
