"""Places where a result cannot go: nothing of the user's is overwritten or lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Complaint = Callable[..., str]
Run = Callable[..., Any]


@pytest.fixture
def archive(model: Path, tmp_path: Path, run_deploy: Run) -> Path:
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "tiny.tar")
    return tmp_path / "tiny.tar"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    np.savez(tmp_path / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return tmp_path / "in.npz"


@pytest.fixture
def read_only_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not stop the superuser, who runs tests in containers."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def opened(path: Path, mode: str = "r", **settings: Any) -> Any:
        return refuse() if "x" in mode else opens(path, mode, **settings)

    opens = Path.open
    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr("tempfile.mkdtemp", refuse)


def test_a_model_is_not_overwritten_by_its_archive(model: Path, complaint: Complaint) -> None:
    before = model.read_bytes()
    assert complaint("compile", model, "--board", "host", "-o", model) == (
        "error: a compiled model is written as an archive or into a folder, not as .tflite\n"
        "  FOLDER/tiny.tflite\n"
        "  hint: -o FOLDER/tiny.tar or -o FOLDER/tiny\n"
    )
    assert model.read_bytes() == before


def test_an_archive_on_a_read_only_disk(
    model: Path, complaint: Complaint, read_only_disk: None, tmp_path: Path
) -> None:
    assert complaint("compile", model, "--board", "host", "-o", tmp_path / "out.tar") == (
        "error: the archive cannot be written: Read-only file system\n"
        "  FOLDER/out.tar\n"
        "  hint: choose a folder that you may write to\n"
    )


def test_a_cartridge_that_is_named_like_a_folder(model: Path, complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    assert complaint("compile", model, "--board", "mps2-an386", "--cartridge", "-o", tmp_path / "c") == (
        "error: the cartridge cannot be written: Is a directory\n"
        "  FOLDER/c\n"
        "  hint: that is a folder: name a file in it, such as FOLDER/c/out\n"
    )
    assert list((tmp_path / "c").iterdir()) == []


def test_a_project_goes_into_no_folder_with_something_in_it(
    archive: Path, complaint: Complaint, tmp_path: Path
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "thesis.txt").write_text("three years", encoding="utf-8")
    assert complaint("new", archive, tmp_path / "p", "--board", "host") == (
        "error: the folder is not empty, and nothing in it will be overwritten\n"
        "  FOLDER/p\n"
        "  hint: name a new folder, or empty this one\n"
    )
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["thesis.txt"]


def test_a_project_on_a_read_only_disk(
    archive: Path, complaint: Complaint, read_only_disk: None, tmp_path: Path
) -> None:
    assert complaint("new", archive, tmp_path / "p", "--board", "host") == (
        "error: the project folder cannot be made: Read-only file system\n  FOLDER/p\n"
    )
    assert not (tmp_path / "p").exists()


def test_build_needs_a_project(complaint: Complaint, tmp_path: Path) -> None:
    for command in ("build", "flash", "monitor"):
        assert complaint(command, tmp_path) == (
            "error: this folder holds no project\n"
            "  FOLDER\n"
            "  hint: deploy new OUT.tar DIR --board B makes one\n"
        )


def refused_output(place: Path, model: Path, inputs: Path, complaint: Complaint) -> str:
    return complaint("run", model, "--board", "host", "--inputs", inputs, "--output", place)


def test_inputs_are_not_overwritten_by_outputs(model: Path, inputs: Path, complaint: Complaint) -> None:
    before = inputs.read_bytes()
    assert refused_output(inputs, model, inputs, complaint) == (
        "error: the file exists and is not a file of outputs, so it is left alone\n"
        "  FOLDER/in.npz\n"
        "  hint: name another file, or remove it\n"
    )
    assert inputs.read_bytes() == before


def test_outputs_need_a_file_name(model: Path, inputs: Path, complaint: Complaint, tmp_path: Path) -> None:
    assert refused_output(tmp_path, model, inputs, complaint) == (
        "error: a file of outputs should be a file, this is a folder\n  FOLDER\n  hint: name a file in it\n"
    )


def test_outputs_need_a_folder(model: Path, inputs: Path, complaint: Complaint, tmp_path: Path) -> None:
    assert refused_output(tmp_path / "no" / "out.npz", model, inputs, complaint) == (
        "error: the folder for a file of outputs does not exist\n  FOLDER/no\n  hint: make it first\n"
    )


def test_outputs_in_a_read_only_folder(
    model: Path, inputs: Path, complaint: Complaint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    assert refused_output(tmp_path / "out.npz", model, inputs, complaint) == (
        "error: a file of outputs cannot be written: the folder is read-only\n"
        "  FOLDER\n"
        "  hint: name another folder\n"
    )


def test_a_picture_replaces_nothing_but_a_picture(model: Path, complaint: Complaint, tmp_path: Path) -> None:
    assert complaint("inspect", model, "--svg", model) == (
        "error: the file exists and is not an SVG picture, so it is left alone\n"
        "  FOLDER/tiny.tflite\n"
        "  hint: name another file, or remove it\n"
    )
