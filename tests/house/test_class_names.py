"""A name of a class names one thing: no two classes of the packages share one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from source_trees import nodes_of


def homes(files: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Each class's name and the places where a class of that name is defined."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, text in files:
        for node in nodes_of(text):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{file}:{node.lineno}")
    return found


def shared(files: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name}: {', '.join(places)}" for name, places in homes(files).items() if len(places) > 1]


def test_a_name_used_twice_is_found() -> None:
    files = [
        ("a.py", "class Step: ..."),
        ("b.py", "def f():\n    class Step: ..."),
        ("c.py", "class Other: ..."),
    ]
    assert shared(files) == ["Step: a.py:1, b.py:2"]


def test_no_two_classes_share_a_name(package_modules: tuple[Path, ...], repo_root: Path) -> None:
    assert shared((str(path.relative_to(repo_root)), path.read_text()) for path in package_modules) == []
