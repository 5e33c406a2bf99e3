"""Writes the outputs of a run to an .npz file."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from artifact.whole_file import write_whole
from deploy.inputs.result_paths import require_place

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
