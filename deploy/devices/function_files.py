"""Adds the user's C files to firmware, so that their functions can be called by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aot.errors import InputError
from deploy.devices.firmware import Prepared
from platforms.project import ProjectSource

_TAKEN = ("main.c", "models.c", "port.c", "heap.c", "fault.c", "deadline.c", "line.c")  # in projects' src/


def with_functions(prepared: Prepared, files: Sequence[str | Path]) -> Prepared:
    """Adds these C files to the firmware. Raises InputError."""
    if not files:
        return prepared
    if isinstance(prepared.source, Path):
        raise InputError(
            "the functions of a project must be in its sources",
            str(prepared.source),
            f"put {Path(files[0]).name} into {prepared.source / 'src'}, of a project with functions",
        )
    return replace(prepared, source=source_with(prepared.source, files))


def source_with(source: ProjectSource, files: Sequence[str | Path]) -> ProjectSource:
    """Adds C files with functions to a project's source. Raises InputError."""
    return replace(source, functions={path.name: _text(path) for path in map(Path, files)})


def _text(path: Path) -> str:
    if path.suffix not in (".c", ".h") or path.name in _TAKEN:
        why = "has the name of a project file" if path.name in _TAKEN else "is neither .c nor .h"
        raise InputError(f"{path.name} {why}: functions must be in C files", str(path), "rename it")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the file of functions cannot be read", f"{path}: {error}") from error
