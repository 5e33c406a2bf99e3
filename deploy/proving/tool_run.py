"""Runs a foreign tool in a chapter's folder."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from aot.errors import ToolError

_MESSAGE_LINES = 12


def run_tool(argv: Sequence[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs it on what is given to its input. Raises ToolError where it fails, with the end of its words."""
    env = {**os.environ, "PWD": str(folder)}  # by which some tools find files, and not by where they run
    done = subprocess.run(argv, cwd=folder, env=env, input=given, capture_output=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-_MESSAGE_LINES:]
        raise ToolError(
            f"{Path(argv[0]).name} failed with exit status {done.returncode}",
            "\n".join((shlex.join(argv), f"in {folder}", *lines)),
        )
    return done
