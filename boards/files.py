"""Finds and reads board, chip and core files."""

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
_HERE = Path("boards")  # in the current folder, which may belong to another user
_TEXTS_KEPT = 512


def folders() -> Iterator[Path]:
    """Yields the folders to search for boards: the user's, those of extensions, this package's."""
    yield _HERE
    yield config_folder() / "boards"
    for package in loaded(BOARDS).values():
        yield from (Path(folder) for folder in getattr(package, "__path__", ()))
    yield OURS


def config_folder() -> Path:
    """Returns the user's settings folder for this program, following the system's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home()) / "solder"
    return user_folder("XDG_CONFIG_HOME", ".config") / "solder"


def find_file(name: str, below: str = "") -> Path | None:
    """Returns the first file with this name in folders(), or in their subfolders `below`, or None.

    Raises MachineError if it is in the current folder's boards and belongs to another user.
    """
    files = (folder / below / f"{name}.toml" for folder in folders())
    return next((file for file in files if is_there(file)), None)


def is_there(file: Path) -> bool:
    """Returns whether the file exists; False also if its name is too long for a file.

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
    """Returns every name that find_file finds, sorted."""
    return tuple(sorted({file.stem for folder in folders() for file in (folder / below).glob("*.toml")}))


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """Returns the parsed file; `what` names its kind in error texts, for example "board file"."""
    return parse_toml(read_text(file, what), file)


def read_text(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _not_toml(error, file) from error
    except OSError as error:
        raise BoardFileError(f"{what} cannot be read: {error.strerror}", str(file)) from error


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    """Returns the parsed text as a new dict that the caller may change."""
    try:
        return deepcopy(_parsed(text))
    except (ValueError, RecursionError) as error:  # ValueError also of a number with thousands of digits
        raise _not_toml(error, file) from error


@lru_cache(maxsize=_TEXTS_KEPT)
def _parsed(text: str) -> dict[str, Any]:
    """Parses TOML. Cached: boards share chip files, and a command may read all boards more than once."""
    table: dict[str, Any] = tomllib.loads(text)
    return table


def _not_toml(error: Exception, file: Path) -> BoardFileError:
    return BoardFileError(f"not a TOML file: {error}", str(file))
