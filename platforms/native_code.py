"""Compiles C files for this computer and loads them into this process, for models of devices in emulators."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import BuildError
from boards.cores import load_core
from codegen.kernels.kernel import CFile
from platforms.shared_library import build_commands
from platforms.toolchains import find_toolchain

_LIBRARY = "native.so"


def loaded(files: Sequence[CFile]) -> ctypes.CDLL:
    """Compiles and loads these files. Raises ToolError if compilation fails."""
    sources = [file.name for file in files if file.name.endswith(".c")]
    commands = build_commands(find_toolchain(load_core("host").target()), sources, _LIBRARY)
    with TemporaryDirectory(prefix="native", ignore_cleanup_errors=True) as folder:
        for file in files:
            Path(folder, file.name).write_text(file.text, encoding="utf-8", newline="\n")
        for argv in commands:
            _run(argv, folder)
        return ctypes.CDLL(str(Path(folder, _LIBRARY)))


def _run(argv: Sequence[str], folder: str) -> None:
    built = subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if built.returncode != 0:
        raise BuildError("the C model of a device does not compile on this computer", built.stderr.strip())
