"""The tutorials do what they say: their programs run, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = (
    "found-schedule",
    "from-python",
    "graph-as-data",
    "kernel-text",
    "matrix-product",
    "own-instruction",
    "own-op",
    "own-pass",
    "own-schedule",
    "template",
)


def blocks(page: str) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in _BLOCK.findall(page)]


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_shows(
    name: str, repo_root: Path, own_folders: None, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc")
    require_tool("qemu-system-arm")
    page = (repo_root / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    shown, printed = [], []
    out = ""
    for kind, text in blocks(page):
        if kind == "text":
            shown.append(text)
            printed.append(out)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as captured:
            exec(compile(text, f"{name}.md", "exec"), known)
        out = re.sub(r"\n\n+$", "\n", captured.getvalue())
    assert printed == shown


def test_every_tutorial_is_run(repo_root: Path) -> None:
    """The first hour's commands are run beside the site."""
    pages = {path.stem for path in (repo_root / "docs" / "tutorials").glob("*.md")}
    assert pages == {*PAGES, "first-hour"}
