"""Writes a file completely or not at all: writes to a temporary name, then renames."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from aot.errors import OutputError


def write_whole(path: Path, data: bytes, what: str = "the file") -> None:
    """Replaces an earlier file only if the new one is complete. Raises OutputError."""
    path = path.resolve()  # a link stays a link
    partial = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with partial.open("xb") as file:
            file.write(data)
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            f"{what} cannot be written: {error.strerror}", str(path), _way_out(path, error)
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def _way_out(path: Path, error: OSError) -> str:
    if path.is_dir():
        return f"this is a folder: name a file in it, such as {path / 'out'}"
    if not path.parent.is_dir():
        return f"create the folder first: mkdir -p {path.parent}"
    if error.errno == errno.ENOSPC:
        return "free some space, or name a file elsewhere"
    return "choose a writable folder"
