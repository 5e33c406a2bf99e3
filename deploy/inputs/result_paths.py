"""Checks paths for results: only an earlier result of the same kind may be overwritten."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from aot.errors import OutputError
from aot.ir.types import Array
from artifact.whole_file import write_whole

Ours = Callable[[Path], bool]
_HEAD_BYTES = 2048


def require_place(path: Path, is_ours: Ours, what: str) -> None:
    """Raises OutputError unless `path` is new or contains an earlier result of the same kind."""
    if path.is_dir():
        raise OutputError(f"{what} must be a file, this is a folder", str(path), "name a file in it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{what} must be a file, this is a device or a pipe", str(path), "name a file")
    if not path.parent.is_dir():
        raise OutputError(f"the folder for {what} does not exist", str(path.parent), "create it first")
    if path.exists() and not is_ours(path):
        raise OutputError(
            f"the file exists and is not {what}, so it is not overwritten",
            str(path),
            "name another file, or remove it",
        )
    if not os.access(path.parent, os.W_OK):
        raise OutputError(
            f"{what} cannot be written: the folder is read-only", str(path.parent), "name another folder"
        )


def require_place_of_kind(path: Path, kinds: Sequence[str], marks: Sequence[str], what: str) -> Path:
    """Checks the path of a result whose suffix selects its format. Earlier results contain one of `marks`.

    Call it before computing. Raises OutputError if one of the user's files would be overwritten.
    """
    if path.suffix not in kinds:
        raise OutputError(
            f"{what} must be {', '.join(kinds)}, not {path.suffix or 'a file without a suffix'}",
            str(path),
            f"-o {path.with_suffix(kinds[0])}",
        )
    require_place(path, lambda there: any(mark in _head(there) for mark in marks), what)
    return path


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES).decode(errors="replace")


# Writes the outputs of a run to an .npz file.

_MEMBER = re.compile(r"output_\d+\.npy")


def require_results_place(path: Path) -> None:
    """Raises OutputError unless the path is new or contains earlier outputs; call it before the run."""
    require_place(path, _is_ours, "a file of outputs")


def write_results(path: Path, arrays: Mapping[str, Array]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # numpy's type stub treats allow_pickle as one of the names
    write_whole(path, buffer.getvalue())


def _is_ours(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as file:
            return all(_MEMBER.fullmatch(name) for name in file.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
