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


def with_what_it_prints(page: str, name: str) -> str:
    """The page, with each text block as the program above it prints."""
    known: dict[str, Any] = {}
    out = ""

    def as_run(block: re.Match[str]) -> str:
        nonlocal out
        kind, text = block.groups()
        if kind == "text":
            return f"```text\n{out}```"
        with contextlib.redirect_stdout(io.StringIO()) as captured:
            exec(compile(text, f"{name}.md", "exec"), known)
        out = re.sub(r"\n\n+$", "\n", captured.getvalue())
        return block[0]

    return _BLOCK.sub(as_run, page)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_shows(
    name: str,
    repo_root: Path,
    own_folders: None,
    require_tool: Callable[..., None],
    generated: Callable[[Path, str], None],
) -> None:
    require_tool("arm-none-eabi-gcc")
    require_tool("qemu-system-arm")
    path = repo_root / "docs" / "tutorials" / f"{name}.md"
    generated(path, with_what_it_prints(path.read_text(encoding="utf-8"), name))


def test_every_tutorial_is_run(repo_root: Path) -> None:
    """The first hour's commands are run beside the site, and those of the language model in tests/demo."""
    pages = {path.stem for path in (repo_root / "docs" / "tutorials").glob("*.md")}
    assert pages == {*PAGES, "first-hour", "language-model"}
