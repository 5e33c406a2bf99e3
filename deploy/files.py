"""Paths for results: only an earlier result of the same kind is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from aot.errors import OutputError

Ours = Callable[[Path], bool]


def require_place(path: Path, is_ours: Ours, what: str) -> None:
    """Raises OutputError unless `path` is new or holds an earlier result of the same kind."""
    if path.is_dir():
        raise OutputError(f"{what} should be a file, this is a folder", str(path), "name a file in it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{what} should be a file, this is a device or a pipe", str(path), "name a file")
    if not path.parent.is_dir():
        raise OutputError(f"the folder for {what} does not exist", str(path.parent), "make it first")
    if path.exists() and not is_ours(path):
        raise OutputError(
            f"the file exists and is not {what}, so it is left alone",
            str(path),
            "name another file, or remove it",
        )
    if not os.access(path.parent, os.W_OK):
        raise OutputError(
            f"{what} cannot be written: the folder is read-only", str(path.parent), "name another folder"
        )
