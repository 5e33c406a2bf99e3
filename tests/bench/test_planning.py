"""python -m benchmarks planning takes models by name and knows which there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def _planning(root: Path, *names: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "benchmarks", "planning", *names]
    return subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)


def test_only_the_named_model_is_planned(repo_root: Path, shared_dir: Path) -> None:
    done = _planning(repo_root, "tflm_hello_world_int8")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| t")]
    assert (done.returncode, len(rows)) == (0, 1)
    assert rows[0].startswith("| tflm_hello_world_int8 |")


def test_an_unknown_model_is_refused(repo_root: Path, shared_dir: Path) -> None:
    done = _planning(repo_root, "tflm_hello_wurld_int8")
    assert done.returncode != 0
    assert "no shared model is called tflm_hello_wurld_int8; there are: " in done.stderr
