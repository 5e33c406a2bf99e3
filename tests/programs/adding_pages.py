"""Carries out a page docs/adding-*.md in a copy of the tree.

A fenced block says by its first line what it is: `python aot/ops/x.py` a new file, `diff aot/ops/__init__.py`
a change, `sh` commands. A diff shows the lines around the change, which the file must hold exactly once.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class PageBlock:
    """A fenced block: its kind, the file that it is for, "" where it is for none, and its text."""

    kind: str
    file_name: str
    text: str

    @property
    def added(self) -> list[str]:
        """The lines that a change puts into a file that is there."""
        lines = self.text.splitlines() if self.kind == "diff" else []
        return [line[1:] for line in lines if line.startswith("+")]


def blocks_of(page: Path) -> list[PageBlock]:
    return [PageBlock(*groups) for groups in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def write(block: PageBlock, tree: Path) -> None:
    """Makes the block's new file, or its change."""
    path = tree / block.file_name
    if block.kind == "diff":
        _edit(path, block.text)
    else:
        assert not path.exists(), f"{block.file_name} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


def _edit(path: Path, diff: str) -> None:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{path.name} holds these lines {text.count(before)} times:\n{before}"
    path.write_text(text.replace(before, after), encoding="utf-8")
