"""Writes files so that they are there whole or not at all: beside their place first, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from aot.errors import OutputError


def write_whole(path: Path, data: bytes, what: str = "the file") -> None:
    """An earlier file stays until the new one is complete. Raises OutputError."""
    path = path.resolve()  # a link stays a link
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OutputError(
            f"{what} cannot be written: {error.strerror}", str(path), _folder_hint(path.parent)
        ) from None
    partial = Path(beside)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        partial.chmod(0o666 & ~_umask())  # mkstemp's own mode is for secrets
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{what} cannot be written: {error.strerror}", str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def _folder_hint(folder: Path) -> str:
    if folder.is_dir():
        return "choose a folder that you may write to"
    return f"make the folder first: mkdir -p {folder}"


def _umask() -> int:
    """The only way to read it is to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
