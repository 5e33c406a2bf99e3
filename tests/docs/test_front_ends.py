"""The program of docs/front-ends.md is compiled without a warning, listens, and says what the page says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.inputs.recordings import read_wav


@pytest.fixture
def page(repo_root: Path) -> str:
    return (
        (repo_root / "docs" / "front-ends.md").read_text(encoding="utf-8").partition("## A program that")[2]
    )


def commands(page: str) -> list[list[str]]:
    """The words of each command line of the page."""
    joined = page.replace("\\\n", "")
    return [shlex.split(line) for line in re.findall(r"^    \$ (.*)$", joined, re.MULTILINE)]


@pytest.mark.cc
@pytest.mark.slow
def test_the_program_listens(
    page: str,
    shared_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    require_tool: Callable[..., None],
    run_deploy: Callable[..., Any],
) -> None:
    require_tool("cc")
    monkeypatch.chdir(tmp_path)
    shutil.copy(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite", "kws.tflite")
    compiling, building, listening = commands(page)[:3]
    assert run_deploy(*compiling[1:]).status == 0
    program = re.search(r"```c listen/main.c\n(.*?)```", page, re.DOTALL)
    assert program is not None
    (tmp_path / "listen" / "main.c").write_text(program[1], encoding="utf-8")
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run([*building, *strict], check=True)
    files = listening[1 : listening.index("|")]
    clips = [read_wav(shared_dir / "datasets" / f"{Path(file).stem}_1000ms.wav", 16000) for file in files]
    heard = b"".join(clip.astype("<i2").tobytes() for clip in clips)
    found = subprocess.run(["./listener"], input=heard, capture_output=True, check=True).stdout.decode()
    assert found.splitlines() == re.findall(r"^    (second .*)$", page, re.MULTILINE)
