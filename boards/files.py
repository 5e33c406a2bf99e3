"""Finds and reads the files of boards, of their chips and of cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from aot.errors import BoardFileError
from aot.extensions import BOARDS, loaded
from aot.trust import require_own, user_folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OURS = Path(__file__).parent
_HERE = Path("boards")  # in the current folder, whoever made it
_TEXTS_KEPT = 512


def folders() -> Iterator[Path]:
    """The folders in which boards are searched, in this order: the user's own, extensions', ours."""
    yield _HERE
    yield config_folder() / "boards"
    for package in loaded(BOARDS).values():
        yield from (Path(folder) for folder in getattr(package, "__path__", ()))
    yield OURS


def config_folder() -> Path:
    """The folder of the user's settings for this program, where the system keeps such settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home()) / "solder"
    return user_folder("XDG_CONFIG_HOME", ".config") / "solder"


def find_file(name: str, below: str = "") -> Path | None:
    """The file of that name in the first of the folders, or of their folders `below`, that has it.

    Raises MachineError if it is in the current folder's and belongs to another user.
    """
    files = (folder / below / f"{name}.toml" for folder in folders())
    return next((file for file in files if is_there(file)), None)


def is_there(file: Path) -> bool:
    """True if there is such a file; a name that no file can have, because it is too long, has none.

    Raises MachineError if it is in the current folder's boards and belongs to another user.
    """
    try:
        found = file.is_file()
    except OSError:
        return False
    if found and _HERE in file.parents:
        require_own(file, "the board's file")
    return found


def file_names(below: str = "") -> tuple[str, ...]:
    """Lists every name that find_file finds, sorted."""
    return tuple(sorted({file.stem for folder in folders() for file in (folder / below).glob("*.toml")}))


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """The tables of a file; `what` it is, such as "board file", stands in the message when there is none."""
    return parse_toml(read_text(file, what), file)


def read_text(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _not_toml(error, file) from error
    except OSError as error:
        raise BoardFileError(f"{what} cannot be read: {error.strerror}", str(file)) from error


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    """The tables of that text, which the caller may change."""
    try:
        return deepcopy(_parsed(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _not_toml(error, file) from error


@lru_cache(maxsize=_TEXTS_KEPT)
def _parsed(text: str) -> dict[str, Any]:
    """Boards share the files of chips, and a command may look at all boards more than once."""
    table: dict[str, Any] = tomllib.loads(text)
    return table


def _not_toml(error: Exception, file: Path) -> BoardFileError:
    return BoardFileError(f"not a TOML file: {error}", str(file))
