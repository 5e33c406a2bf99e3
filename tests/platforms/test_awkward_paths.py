"""Folders with spaces, umlauts and over 260 characters: models are read there, compiled, built and run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
LEAST_LETTERS = 260  # what Windows takes unless it is told otherwise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "Über uns & Größe 100 % (neu)"
    while len(str(place)) < LEAST_LETTERS:
        place /= "ein Ordner mit vielen Buchstaben"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def model(folder: Path, repo_root: Path) -> Path:
    return Path(shutil.copy(repo_root / "deploy/demo/digits.tflite", folder / "Ziffern öäü.tflite"))


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("compile", "MODEL", "--board", "host", "-o", "FOLDER/a b.tar"), "a b.tar"),
        (("report", "MODEL", "--board", "host", "-o", "FOLDER/Bericht ö.html"), "Bericht ö.html"),
        (("export", "MODEL", "--board", "host", "--as", "cmake", "-o", "FOLDER/p k"), "p k/CMakeLists.txt"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
@pytest.mark.slow
def test_files_are_read_and_written_there(
    words: tuple[str, ...], made: str, folder: Path, model: Path, run_deploy: Run
) -> None:
    places = (word.replace("MODEL", str(model)).replace("FOLDER", str(folder)) for word in words)
    said = run_deploy(*places)
    assert said.status == 0, said.err
    assert (folder / made).is_file()


@pytest.mark.cc
@pytest.mark.slow
def test_a_project_is_built_there_by_us_and_by_make_and_runs(
    folder: Path, model: Path, run_deploy: Run, require_tool: Callable[..., None]
) -> None:
    require_tool("gcc", "make")
    archive, project = folder / "a b.tar", folder / "mein Projekt ß"
    for words in (
        ("compile", model, "--board", "host", "-o", archive),
        ("new", archive, project, "--board", "host"),
        ("build", project),
        ("run", project, "--fill", "random"),
    ):
        said = run_deploy(*words)
        assert said.status == 0, said.err
    shutil.rmtree(project / "build")
    done = subprocess.run(["make"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.arm
@pytest.mark.slow
def test_firmware_for_an_emulated_board_is_built_and_runs_there(
    folder: Path,
    model: Path,
    run_deploy: Run,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> None:
    require_tool("arm-none-eabi-gcc")
    require_package("unicorn")
    project = folder / "Firmware ü"
    for words in (
        ("compile", model, "--board", "mps2-an386", "-o", folder / "m.tar"),
        ("new", folder / "m.tar", project, "--board", "mps2-an386"),
        ("build", project),
        ("run", project, "--runner", "unicorn", "--fill", "random"),
    ):
        said = run_deploy(*words)
        assert said.status == 0, said.err
