"""Writes the outputs of a run as an .npz file: by their names in the model, and by their numbers."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from artifact.whole_file import write_whole
from deploy.files import require_place

_NUMBERED = re.compile(r"output_\d+")
_FIRST = "output_0.npy"


def require_results_place(path: Path) -> None:
    """Raises OutputError unless the path is new or holds outputs of an earlier run; called before the run."""
    require_place(path, _is_ours, "a file of outputs")


def write_results(path: Path, arrays: Mapping[str, Array], names: Sequence[str]) -> None:
    """`arrays` are output_0, output_1, ...; `names` are those of the model, in the same order."""
    own = {name: each for name, each in zip(names, arrays.values(), strict=True) if not _is_number(name)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:  # numpy's savez takes some names for options
        for name, array in {**arrays, **own}.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    write_whole(path, buffer.getvalue())


def _is_number(name: str) -> bool:
    """True of a name that says which output it is, and may be another's number."""
    return _NUMBERED.fullmatch(name) is not None


def _is_ours(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as file:
            return _FIRST in file.namelist() and all(name.endswith(".npy") for name in file.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
