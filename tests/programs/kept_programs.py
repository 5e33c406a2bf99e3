"""Programs of tests that were built of the same files before, by the same compiler, are not built again.

ccache keeps objects of gcc and clang; zig keeps its own, but for the folder alone that they were made in.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from platforms.toolchains import Toolchain

_FOLDER = os.environ.get("SOLDER_KEPT_PROGRAMS", "")  # the Makefile says where; "" keeps none
_KEPT_S = 14 * 24 * 3600.0  # since it was last used


def kept_or_built(
    files: Mapping[str, str], toolchain: Toolchain, options: Sequence[str], build: Callable[[], Path]
) -> Path:
    """The program that `build` makes of the files with these options, or the one that an earlier run made."""
    if not _FOLDER:
        return build()
    program = Path(_FOLDER) / _digest(files, toolchain, options)
    if program.is_file():
        os.utime(program)
    else:
        _keep(build(), program)
    return program


def _digest(files: Mapping[str, str], toolchain: Toolchain, options: Sequence[str]) -> str:
    compiler = Path(shutil.which(toolchain.argv[0]) or toolchain.argv[0]).resolve().stat()
    words = (toolchain.name, toolchain.version, str(compiler.st_size), *options)
    digest = hashlib.sha256("\0".join(words).encode())
    for name, text in sorted(files.items()):
        digest.update(f"\0{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()


def _keep(built: Path, program: Path) -> None:
    """Others may do the same at the same time: the file appears whole, and what they take away is gone."""
    program.parent.mkdir(parents=True, exist_ok=True)
    for old in program.parent.iterdir():
        with suppress(FileNotFoundError):
            if old.stat().st_mtime < time.time() - _KEPT_S:
                old.unlink()
    number, beside = tempfile.mkstemp(dir=program.parent)
    os.close(number)
    shutil.copy(built, beside)
    Path(beside).replace(program)
