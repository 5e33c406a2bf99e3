"""Frozen dataclasses of the packages are those of aot/records.py: a command makes hundreds as it starts."""

from __future__ import annotations

import re
from pathlib import Path

FROZEN = re.compile(r"^@dataclass\(.*frozen=True", re.MULTILINE)
BY_THE_LIBRARY = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)


def test_frozen_dataclasses_are_made_in_one_way(package_modules: tuple[Path, ...], repo_root: Path) -> None:
    texts = {
        path.relative_to(repo_root).as_posix(): path.read_text(encoding="utf-8") for path in package_modules
    }
    frozen = {name for name, text in texts.items() if FROZEN.search(text)}
    assert len(frozen) > 400
    assert {name for name in frozen if BY_THE_LIBRARY.search(texts[name])} == set()
