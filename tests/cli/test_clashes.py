"""Packages of other people with the names of ours: doctor tells of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy import machine


def test_there_is_none_in_the_tree(repo_root: Path) -> None:
    assert machine.clashes(repo_root) == ()


@pytest.mark.parametrize("name", ["deploy.py", "codegen/__init__.py"])
def test_a_file_beside_a_notebook_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert machine.clashes(tmp_path) == (
        f"{tmp_path.resolve() / name} hides ours from Python programs that start here",
    )


@pytest.mark.slow
def test_the_package_of_that_name_on_pypi_is_told(
    monkeypatch: pytest.MonkeyPatch, run_deploy: Callable[..., Any]
) -> None:
    monkeypatch.setattr(machine, "_distributions", lambda name: [name])
    assert '\nname clash: pip has installed PyPI\'s "deploy"' in run_deploy("doctor").out
    assert len(json.loads(run_deploy("doctor", "--json").out)["clashes"]) == 1


def test_a_package_from_elsewhere_is_told(monkeypatch: pytest.MonkeyPatch, repo_root: Path) -> None:
    ours = machine._folder_of
    other = Path("/elsewhere")
    monkeypatch.setattr(machine, "_folder_of", lambda name: other if name == "boards" else ours(name))
    assert machine.clashes(repo_root) == (f'"boards" comes from {other}',)
