"""The action for pull requests comments what changed, and fails where it is worse."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_models import TINY

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
def place(repo_root):
    return repo_root / "actions" / "bench"


@dataclass
class Outcome:
    status: int
    comment: str
    summary: str
    said: str  # to GitHub's program


def run_action(
    place: Path,
    folder: Path,
    pull_request: str = "7",
    options: str = "",
    cwd: Path | None = None,
    **more: str,
) -> Outcome:
    programs = folder / "programs"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "deploy").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deploy "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    comment, summary, said = (folder / name for name in ("solder-changes.md", "summary.md", "said"))
    said.touch()
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(summary),
        "SAID": str(said),
        "MODELS": str(DIGITS),
        "BOARDS": BOARD,
        "BASELINE": "",
        "WORSE": "1",
        "OPTIONS": options,
        "PULL_REQUEST": pull_request,
        **more,
    }
    done = subprocess.run(["bash", str(place / "compare.sh")], env=environment, cwd=cwd, check=False)
    written = [path.read_text() if path.exists() else "" for path in (comment, summary, said)]
    return Outcome(done.returncode, *written)


@pytest.fixture
def baseline(tmp_path, require_tool):
    require_tool("bash")
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps([deploy.bench(DIGITS, board=BOARD, layers=True).as_json()]))
    return path


def test_what_is_as_it_was_passes(place, baseline, tmp_path):
    found = run_action(place, tmp_path, BASELINE=str(baseline))
    assert found.status == 0
    assert "1 case of the baseline measured again: 0 figures changed" in found.comment
    assert found.summary == found.comment
    assert found.said == f"pr comment 7 --body-file {tmp_path / 'solder-changes.md'}\n"


def test_what_is_worse_fails_with_the_table(place, baseline, tmp_path):
    found = run_action(place, tmp_path, pull_request="", options="--optimize size", BASELINE=str(baseline))
    assert found.status == 1
    assert "| digits | mps2-an386 |  | instructions |" in found.comment
    assert "CONV_2D #0" in found.comment
    assert found.said == ""


@pytest.fixture
def changed(tmp_path, require_tool):
    """A clone whose branch changes the base's model and adds another one, and the base's commit."""
    require_tool("bash", "git")

    def git(folder: Path, *words: object) -> str:
        known = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", *map(str, words))
        return subprocess.run(known, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (origin / "models").mkdir(parents=True)
    git(origin, "init", "-q", "-b", "main")
    (origin / "models/net.tflite").write_bytes(TINY["conv"]())
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "base")
    git(tmp_path, "clone", "-q", origin, clone)
    git(clone, "checkout", "-q", "-b", "change")
    (clone / "models/net.tflite").write_bytes(TINY["residual"]())
    (clone / "models/added.tflite").write_bytes(TINY["dense"]())
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "change")
    return clone, git(origin, "rev-parse", "HEAD")


def test_a_branch_is_compared_with_its_base(place, changed, tmp_path):
    clone, base = changed
    models = "models/net.tflite models/added.tflite"
    found = run_action(place, tmp_path, cwd=clone, MODELS=models, BASE=base)
    assert found.status == 1
    assert "1 case of the baseline measured again" in found.comment
    assert f"- new: added on {BOARD}" in found.comment
    for figure in ("instructions", "arena", "constants"):
        assert re.search(rf"^\\| net +\\| {BOARD} +\\| +\\| {figure}", found.comment, re.MULTILINE), (
            found.comment
        )
    for kind in ("new", "gone"):
        assert re.search(rf"\| +{kind} \|", found.comment), f"no layer is {kind}"
    assert not (tmp_path / "solder-base").exists(), "the worktree is removed"


def test_a_base_that_cannot_be_fetched_is_an_error(place, changed, tmp_path):
    """Nothing is commented rather than a comparison with something else."""
    found = run_action(place, tmp_path, cwd=changed[0], MODELS="models/net.tflite", BASE="f" * 40)
    assert (found.status, found.comment, found.said) == (1, "", "")


def test_each_input_reaches_the_script(place):
    action, script = ((place / name).read_text() for name in ("action.yml", "compare.sh"))
    inputs = set(
        re.findall(r"^  (\w+):$", action.partition("inputs:")[2].partition("runs:")[0], re.MULTILINE)
    )
    passed = dict(re.findall(r"^ +(\w+): \$\{\{ inputs\.(\w+) \}\}$", action, re.MULTILINE))
    assert set(passed.values()) == inputs
    assert all(f"${name}" in script for name in passed)
