"""Values of options, from the command line and from a project file."""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from deploy.cli.options import count, size
from deploy.cli.project_file import read_project_file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("65536", 65536),
        ("65,536", 65536),
        ("64K", 65536),
        ("64k", 65536),
        ("64KB", 65536),
        ("64kB", 65536),
        ("64KiB", 65536),
        ("64 KiB", 65536),  # as deploy boards prints it
        ("1.5K", 1536),
        ("2M", 2097152),
        ("2MB", 2097152),
        ("1G", 1073741824),
        ("512B", 512),
    ],
)
def test_sizes_have_units(text, expected):
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "K", "-1", "0.3", "1.0001K", "64T", "64iB", "6,4K", "64  K", "lots"])
def test_what_is_not_a_size_is_refused_with_examples(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as 65536, 64KB or 1MB"):
        size(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_a_number_of_times_is_1_or_more(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number of 1 or more"):
        count(text)


Run = Callable[..., Any]
DEMO = Path(deploy.__file__).parent / "demo"
TEXT = """
model = "models/digits.tflite"
board = "mps2-an386"
optimize = "ram"
inputs = "samples.npz"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project's folder; commands are called in one below."""
    (tmp_path / "models").mkdir()
    shutil.copy(DEMO / "digits.tflite", tmp_path / "models")
    shutil.copy(DEMO / "digits.tflite", tmp_path / "other.tflite")
    np.savez(tmp_path / "samples.npz", image=np.load(DEMO / "digits_test.npz")["image"][:2])
    (tmp_path / "solder.toml").write_text(TEXT)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def inspected(run_deploy: Run, *words: object) -> dict[str, Any]:
    outcome = run_deploy("inspect", *words, "--json")
    assert outcome.status == 0, outcome.err
    facts: dict[str, Any] = json.loads(outcome.out)
    return facts


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_command_without_arguments_is_about_the_project(run_deploy):
    facts = inspected(run_deploy)
    meant = deploy.inspect(DEMO / "digits.tflite", board="mps2-an386", optimize="ram").as_json()
    assert (facts["board"], facts["arena_bytes"]) == ("mps2-an386", meant["arena_bytes"])
    assert (
        facts["arena_bytes"]
        < deploy.inspect(DEMO / "digits.tflite", board="mps2-an386").as_json()["arena_bytes"]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_command_line_goes_before(run_deploy):
    assert inspected(run_deploy, "--board", "host")["board"] == "host"
    assert inspected(run_deploy, "--target", "cortex-m4,ram=64K,flash=1M")["board"] != "mps2-an386"
    fast = inspected(run_deploy, "--optimize", "speed")
    assert fast["arena_bytes"] > inspected(run_deploy)["arena_bytes"]


@pytest.mark.slow
def test_options_belong_to_the_projects_model(folder, run_deploy):
    """Another model, or an archive, is not compiled with them; the board is the same."""
    other = inspected(run_deploy, folder / "other.tflite")
    assert other["board"] == "mps2-an386"
    assert other["arena_bytes"] > inspected(run_deploy)["arena_bytes"]
    assert run_deploy("compile", "-o", folder / "a.tar").status == 0
    assert inspected(run_deploy, folder / "a.tar")["arena_bytes"] == inspected(run_deploy)["arena_bytes"]


@pytest.mark.cc
@pytest.mark.usefixtures("folder", "own_folders")
def test_data_is_taken_and_left_out_where_other_is_asked_for(run_deploy):
    assert run_deploy("run", "--board", "host").out.startswith("digits on host: 2 samples\n")
    assert run_deploy("run", "--board", "host", "--fill", "zeros").out.startswith(
        "digits on host: 1 sample\n"
    )
    assert "2 samples, outputs equal" in run_deploy("verify", "--board", "host").out


@pytest.mark.usefixtures("folder")
def test_commands_about_no_model_do_not_read_it(run_deploy):
    assert "nano-33-ble" in run_deploy("boards", "list").out


@pytest.mark.slow
@pytest.mark.usefixtures("folder", "few_boards")
def test_a_command_that_takes_several_models_and_boards_takes_this_one(run_deploy):
    said = run_deploy("report", "--json")
    assert [board["board"] for board in json.loads(said.out)["boards"]] == ["mps2-an386"]


WRONG = {
    'bord = "host"': '"bord" is not a key of a project file - did you mean "board"?',
    "board = 3": "board must be a text, not 3",
    'optimize = "fast"': 'optimize "fast"',
    "board = ": "not a TOML file",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_it_is_named_with_the_file(text, folder, run_deploy):
    path = folder / "solder.toml"
    path.write_text(f"{text}\n")
    outcome = run_deploy("inspect")
    assert outcome.status == 1
    assert WRONG[text] in outcome.err
    assert str(path) in outcome.err


def test_without_a_model_in_it_one_must_be_given(folder, run_deploy):
    (folder / "solder.toml").write_text('board = "host"\n')
    assert run_deploy("inspect").status == 2
    assert inspected(run_deploy, folder / "other.tflite")["board"] == "host"


def test_the_example_of_the_docs_is_read(repo_root, tmp_path):
    page = (repo_root / "docs" / "project-file.md").read_text()
    path = tmp_path / "solder.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    found = read_project_file(path)
    assert found.model == tmp_path / "models" / "kws.tflite"
    assert found.of_board["runner"] == "pyocd"
