"""Compiles a model file twice more, in processes that differ in everything that should not matter."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from aot.errors import ToolError
from aot.trust import module_argv
from artifact.archive import archive_bytes
from artifact.archive_file import export_time
from artifact.artifact import Artifact
from codegen.options import words_of
from deploy.proving.rebuilding.twice import RebuildResult, twice

# Folder names and their environments: the order of sets, time zone and language differ.
PLACES = {
    "a": {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    "another folder/with a longer name": {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
}
_MESSAGE_LINES = 12


def compiled_again(artifact: Artifact, source: Path, board: str, folder: Path) -> RebuildResult:
    """Compares the existing archive with two more, built in separate processes. Raises ToolError."""
    made = [_compile(artifact, source, board, folder / place, changed) for place, changed in PLACES.items()]
    return twice("archive", [archive_bytes(artifact, export_time()), *made])


def _compile(artifact: Artifact, source: Path, board: str, place: Path, changed: dict[str, str]) -> bytes:
    """Returns the archive's bytes.

    The model file is copied with its folder, whose name may be the model's.
    """
    copy, archive = place / source.resolve().parent.name / source.name, place / "again.tar"
    copy.parent.mkdir(parents=True)
    shutil.copy(source, copy)
    words = (str(copy), "--board", board, *words_of(artifact.facts.options), "-o", str(archive))
    argv = (*module_argv("deploy"), "compile", *words)
    done = subprocess.run(argv, env={**os.environ, **changed}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-_MESSAGE_LINES:]
        raise ToolError("compiling again failed", "\n".join(lines))
    return archive.read_bytes()
