"""Runs a third-party tool in a chapter's folder."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from aot.errors import ToolError

_MESSAGE_LINES = 12


def run_tool(argv: Sequence[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs a tool with `given` as input. If it fails, raises ToolError with the end of its output."""
    env = {**os.environ, "PWD": str(folder)}  # some tools use PWD instead of their working directory
    done = subprocess.run(argv, cwd=folder, env=env, input=given, capture_output=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-_MESSAGE_LINES:]
        raise ToolError(
            f"{Path(argv[0]).name} failed with exit status {done.returncode}",
            "\n".join((shlex.join(argv), f"in {folder}", *lines)),
        )
    return done
