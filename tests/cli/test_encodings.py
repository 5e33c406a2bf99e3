"""Whatever encoding the terminal has, what is printed can be read and nothing fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.cli.terminal_width import SPELLINGS

ENCODINGS = (
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)


def deploy(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[bytes]:
    argv = (sys.executable, "-m", "deploy", *map(str, words))
    root = str(Path(__file__).parents[2])
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "LC_ALL")}
    return subprocess.run(
        argv, env={**known, "PYTHONPATH": root, **environment}, capture_output=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENCODINGS, ids=lambda environment: next(iter(environment.values())))
def test_a_map_of_memory_is_drawn_in_ascii_where_nothing_else_can_be_shown(
    environment: dict[str, str], repo_root: Path
) -> None:
    words = ("inspect", repo_root / "deploy/demo/digits.tflite", "--memory")
    known = deploy({"PYTHONIOENCODING": "utf-8"}, *words).stdout.decode("utf-8")
    assert not known.isascii()
    done = deploy(environment, *words)
    assert done.returncode == 0, done.stderr
    encoding = environment.get("PYTHONIOENCODING", "ascii")
    can_show = {letter for letter in SPELLINGS if letter.encode(encoding, "ignore")}
    spelled = known.translate({ord(a): b for a, b in SPELLINGS.items() if a not in can_show})
    assert done.stdout.decode(encoding).splitlines() == spelled.splitlines()


@pytest.mark.slow
def test_a_name_that_cannot_be_shown_is_escaped(repo_root: Path, tmp_path: Path) -> None:
    model = tmp_path / "模型.tflite"
    shutil.copy(repo_root / "deploy/demo/digits.tflite", model)
    done = deploy({"PYTHONIOENCODING": "ascii"}, "inspect", model)
    assert done.returncode == 0, done.stderr
    refused = deploy({"PYTHONIOENCODING": "ascii"}, "inspect", tmp_path / "模")
    assert refused.returncode == 1
    assert rb"\u6a21" in refused.stderr


def test_every_spelling_is_one_ascii_letter() -> None:
    assert all(len(spelling) == 1 and spelling.isascii() for spelling in SPELLINGS.values())
