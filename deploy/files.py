"""Writes results so that nothing is lost: beside their place first, then renamed; what is not ours stays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from aot.errors import OutputError

Ours = Callable[[Path], bool]


def require_place(path: Path, is_ours: Ours, what: str) -> None:
    """That `path` can be written without harm: it is new, or an earlier result of the same kind."""
    if path.is_dir():
        raise OutputError(f"{what} should be a file, this is a folder", str(path), "name a file in it")
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


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing: an earlier file stays until the new one is complete."""
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OutputError(f"the file cannot be written: {error.strerror}", str(path)) from error
    partial = Path(beside)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        partial.chmod(0o666 & ~_umask())  # mkstemp's own mode is for secrets
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"the file cannot be written: {error.strerror}", str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def _umask() -> int:
    """The only way to read it is to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
