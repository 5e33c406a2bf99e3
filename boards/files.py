"""Finds and reads the files of boards, of their chips and of cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aot.errors import BoardFileError
from aot.extensions import BOARDS, loaded

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OURS = Path(__file__).parent


def folders() -> Iterator[Path]:
    """The folders in which boards are searched, in this order: the user's own, extensions', ours."""
    yield Path("boards")
    yield config_folder() / "boards"
    for package in loaded(BOARDS).values():
        yield from (Path(folder) for folder in getattr(package, "__path__", ()))
    yield OURS


def config_folder() -> Path:
    """The folder of the user's settings for this program, where the system keeps such settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home()) / "solder"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "solder"


def find_file(name: str, below: str = "") -> Path | None:
    """The file of that name in the first of the folders, or of their folders `below`, that has it."""
    files = (folder / below / f"{name}.toml" for folder in folders())
    return next((file for file in files if file.is_file()), None)


def file_names(below: str = "") -> tuple[str, ...]:
    """Lists every name that find_file finds, sorted."""
    return tuple(sorted({file.stem for folder in folders() for file in (folder / below).glob("*.toml")}))


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """The tables of a file; `what` it is, such as "board file", stands in the message when there is none."""
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoardFileError(f"not a TOML file: {error}", str(file)) from error
    except OSError as error:
        raise BoardFileError(f"{what} cannot be read: {error.strerror}", str(file)) from error
    return table
