"""Places where a result cannot go: nothing of the user's is overwritten or lost."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Complain = Callable[..., Any]


@pytest.fixture
def archive(model, tmp_path, run_deploy):
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "tiny.tar")
    return tmp_path / "tiny.tar"


@pytest.fixture
def inputs(tmp_path):
    np.savez(tmp_path / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    return tmp_path / "in.npz"


@pytest.fixture
def read_only_disk(monkeypatch):
    """Permissions do not stop the superuser, who runs tests in containers."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def opened(path: Path, mode: str = "r", **settings: Any) -> Any:
        return refuse() if "x" in mode else opens(path, mode, **settings)

    opens = Path.open
    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr("tempfile.mkdtemp", refuse)


def test_a_model_is_not_overwritten_by_its_archive(model, complaint):
    before = model.read_bytes()
    complaint("compile", model, "--board", "host", "-o", model).names(
        "E103", "not as .tflite", "FOLDER/tiny.tflite", "hint: -o FOLDER/tiny.tar or -o FOLDER/tiny"
    )
    assert model.read_bytes() == before


def test_an_archive_on_a_read_only_disk(model, complaint, read_only_disk, tmp_path):
    complaint("compile", model, "--board", "host", "-o", tmp_path / "out.tar").names(
        "E103", "archive", "Read-only file system", "FOLDER/out.tar", "hint: choose a writable folder"
    )


def test_a_cartridge_that_is_named_like_a_folder(model, complaint, tmp_path):
    (tmp_path / "c").mkdir()
    complaint("compile", model, "--board", "mps2-an386", "--cartridge", "-o", tmp_path / "c").names(
        "E103", "cartridge", "Is a directory", "FOLDER/c", "hint: ", "FOLDER/c/out"
    )
    assert list((tmp_path / "c").iterdir()) == []


def test_a_project_goes_into_no_folder_with_something_in_it(archive, complaint, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "thesis.txt").write_text("three years", encoding="utf-8")
    complaint("new", archive, tmp_path / "p", "--board", "host").names(
        "E103", "not empty", "FOLDER/p", "hint: choose a new folder"
    )
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["thesis.txt"]


def test_a_project_on_a_read_only_disk(archive, complaint, read_only_disk, tmp_path):
    complaint("new", archive, tmp_path / "p", "--board", "host").names(
        "E103", "project folder", "Read-only file system", "FOLDER/p"
    )
    assert not (tmp_path / "p").exists()


def test_build_needs_a_project(complaint, tmp_path):
    for command in ("build", "flash", "monitor"):
        complaint(command, tmp_path).names(
            "E102", "not a project", "FOLDER", "deploy new OUT.tar DIR --board B"
        )


def refused_output(place: Path, model: Path, inputs: Path, complaint: Complain) -> Any:
    return complaint("run", model, "--board", "host", "--inputs", inputs, "--output", place)


def test_inputs_are_not_overwritten_by_outputs(model, inputs, complaint):
    before = inputs.read_bytes()
    refused_output(inputs, model, inputs, complaint).names(
        "E103", "exists", "not overwritten", "FOLDER/in.npz", "hint: name another file"
    )
    assert inputs.read_bytes() == before


def test_outputs_need_a_file_name(model, inputs, complaint, tmp_path):
    refused_output(tmp_path, model, inputs, complaint).names(
        "E103", "is a folder", "FOLDER", "hint: name a file in it"
    )


def test_outputs_need_a_folder(model, inputs, complaint, tmp_path):
    refused_output(tmp_path / "no" / "out.npz", model, inputs, complaint).names(
        "E103", "does not exist", "FOLDER/no", "hint: create it first"
    )


def test_outputs_in_a_read_only_folder(model, inputs, complaint, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    refused_output(tmp_path / "out.npz", model, inputs, complaint).names(
        "E103", "read-only", "FOLDER", "hint: name another folder"
    )


def test_a_picture_replaces_nothing_but_a_picture(model, complaint, tmp_path):
    complaint("inspect", model, "--svg", model).names(
        "E103", "exists", "SVG", "FOLDER/tiny.tflite", "hint: name another file"
    )
