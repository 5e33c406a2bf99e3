"""The pictures of ARCHITECTURE.md are what their script draws now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from draw_pictures import pictures

NAMES = ("way-of-the-data.svg", "rows-and-rings.svg", "plan-over-time.svg")


@pytest.fixture(scope="module")
def drawn() -> Mapping[str, str]:
    return pictures()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_current(
    name: str, drawn: Mapping[str, str], repo_root: Path, generated: Callable[[Path, str], None]
) -> None:
    generated(repo_root / "docs" / "pictures" / name, drawn[name])


def test_every_picture_is_shown(repo_root: Path, drawn: Mapping[str, str]) -> None:
    page = (repo_root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert set(drawn) == set(NAMES)
    assert all(f"(docs/pictures/{name})" in page for name in NAMES)
