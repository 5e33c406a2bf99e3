"""Packages of other people with the names of ours: doctor tells of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from deploy.host_tools import tool_inventory as machine


def test_there_is_none_in_the_tree(repo_root: Path) -> None:
    assert machine.clashes(repo_root) == ()


@pytest.mark.parametrize("name", ["deploy.py", "codegen/__init__.py"])
def test_a_file_beside_a_notebook_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert machine.clashes(tmp_path) == (
        f"{tmp_path.resolve() / name} hides ours from Python programs started in this folder",
    )


@pytest.mark.slow
def test_the_packages_of_these_names_on_pypi_are_reported(
    monkeypatch: pytest.MonkeyPatch, run_deploy: Callable[..., Any], tmp_path: Path
) -> None:
    def installed(name: str) -> list[Distribution]:
        path = tmp_path / f"{name}-1.0.dist-info"
        return [Distribution.at(path)] if path.is_dir() else []

    for name, file in (
        ("deploy", "deploy/__init__.py"),
        ("solder", "solder/__init__.py"),
        ("boards", "a.py"),
    ):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "RECORD").write_text(f"{file},,\n")
    monkeypatch.setattr(machine, "_distributions", installed)
    what = 'pip has installed the package "NAME", which overwrites ours'
    told = f"{what}: pip uninstall NAME, then solder-mcu again"
    assert "\nname clash: " + told.replace("NAME", "deploy") in run_deploy("doctor").out
    facts = json.loads(run_deploy("doctor", "--json").out)
    assert facts["clashes"] == [told.replace("NAME", name) for name in ("deploy", "solder")]


def test_a_package_from_elsewhere_is_reported(monkeypatch: pytest.MonkeyPatch, repo_root: Path) -> None:
    ours = machine._folder_of
    other = Path("/elsewhere")
    monkeypatch.setattr(machine, "_folder_of", lambda name: other if name == "boards" else ours(name))
    assert machine.clashes(repo_root) == (f'"boards" comes from {other}',)
