"""pip knows Solder by one name, which hints, pages and packages give; PyPI's "solder" is another project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from aot.distribution import DISTRIBUTION, pip_install
from boards.files import read_toml

ASKED = re.compile(r"\b(solder(?:-\w+)*)\[([a-z,]+)\]")  # as pip takes it: name and extras


@pytest.fixture(scope="module")
def project(repo_root: Path) -> dict[str, Any]:
    return dict(read_toml(repo_root / "pyproject.toml", "the project")["project"])


def test_the_project_has_that_name(project: dict[str, Any]) -> None:
    assert project["name"] == DISTRIBUTION != "solder"


@pytest.mark.slow
def test_hints_and_pages_ask_pip_for_it_and_for_extras_that_it_has(
    repo_files: tuple[Path, ...], project: dict[str, Any]
) -> None:
    of_today = [path for path in repo_files if path.name != "CHANGELOG.md"]
    texts = [path.read_text(encoding="utf-8") for path in of_today if b"\0" not in path.read_bytes()]
    asked = {found for text in texts for found in ASKED.findall(text)}
    assert len(asked) > 5
    assert {name for name, _ in asked} == {DISTRIBUTION}
    assert {extra for _, extras in asked for extra in extras.split(",")} <= project[
        "optional-dependencies"
    ].keys()


def test_a_hint_is_a_line_to_copy() -> None:
    assert pip_install("zig", "unicorn") == "pip install 'solder-mcu[zig,unicorn]'"
