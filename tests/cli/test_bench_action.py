"""The action for pull requests comments what changed, and fails where it is worse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import deploy

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARD = "mps2-an386"
# A stand-in for GitHub's own program: there is no comment yet that could be edited.
GH = """#!/bin/sh
case "$*" in *--edit-last*) echo "no comments found" >&2; exit 1 ;; esac
echo "$@" >> "$SAID"
"""

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.usefixtures("own_folders")]


@pytest.fixture
def place(repo_root: Path) -> Path:
    return repo_root / "actions" / "bench"


@dataclass
class Outcome:
    status: int
    comment: str
    summary: str
    said: str  # to GitHub's program


def run_action(
    place: Path, folder: Path, baseline: Path, pull_request: str = "7", options: str = ""
) -> Outcome:
    programs = folder / "programs"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "deploy").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deploy "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    summary, said = folder / "summary.md", folder / "said"
    said.touch()
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(summary),
        "SAID": str(said),
        "MODELS": str(DIGITS),
        "BOARDS": BOARD,
        "BASELINE": str(baseline),
        "WORSE": "1",
        "OPTIONS": options,
        "PULL_REQUEST": pull_request,
    }
    done = subprocess.run(
        ["bash", str(place / "compare.sh")], env=environment, cwd=place.parents[1], check=False
    )
    comment = (folder / "solder-changes.md").read_text()
    return Outcome(done.returncode, comment, summary.read_text(), said.read_text())


@pytest.fixture
def baseline(tmp_path: Path, require_tool: Callable[..., None]) -> Path:
    require_tool("bash", "arm-none-eabi-gcc", "qemu-system-arm")
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps([deploy.bench(DIGITS, board=BOARD, layers=True).as_json()]))
    return path


def test_what_is_as_it_was_passes(place: Path, baseline: Path, tmp_path: Path) -> None:
    found = run_action(place, tmp_path, baseline)
    assert found.status == 0
    assert "1 case of the baseline measured again: 0 figures changed" in found.comment
    assert found.summary == found.comment
    assert found.said == f"pr comment 7 --body-file {tmp_path / 'solder-changes.md'}\n"


def test_what_is_worse_fails_with_the_table(place: Path, baseline: Path, tmp_path: Path) -> None:
    found = run_action(place, tmp_path, baseline, pull_request="", options="--optimize size")
    assert found.status == 1
    assert "| digits | mps2-an386 |  | instructions |" in found.comment
    assert "CONV_2D #0" in found.comment
    assert found.said == ""


def test_each_input_reaches_the_script(place: Path) -> None:
    action, script = ((place / name).read_text() for name in ("action.yml", "compare.sh"))
    inputs = set(
        re.findall(r"^  (\w+):$", action.partition("inputs:")[2].partition("runs:")[0], re.MULTILINE)
    )
    passed = dict(re.findall(r"^ +(\w+): \$\{\{ inputs\.(\w+) \}\}$", action, re.MULTILINE))
    assert set(passed.values()) == inputs
    assert all(f"${name}" in script for name in passed)
