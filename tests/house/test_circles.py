"""No import cycles between files: each file can be read after those that it imports.

Imports for types alone (`if TYPE_CHECKING`) and imports inside functions count: a reader follows them too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from source_trees import nodes_of

Graph = Mapping[str, frozenset[str]]


def module_graph(root: Path, files: Iterable[Path]) -> Graph:
    """Module -> the modules among these files that it imports. A table in an `__init__` is a module, too."""
    names = {module_name(root, path): path for path in files}
    return {
        name: frozenset(_imported(path.read_text(encoding="utf-8"), names)) - {name}
        for name, path in names.items()
    }


def module_name(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(text: str, names: Mapping[str, Path]) -> Iterator[str]:
    for statement in nodes_of(text):
        if isinstance(statement, ast.Import):
            wanted = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            wanted = [f"{statement.module}.{alias.name}" for alias in statement.names]
        else:
            continue
        for name in wanted:
            if name in names:
                yield name
            elif name.rpartition(".")[0] in names:  # a name out of that module
                yield name.rpartition(".")[0]


def circles(graph: Graph) -> list[list[str]]:
    """The groups of modules in which each reaches each other one. (A module's own reach is enough here.)"""
    left = _without_ends(graph)
    reach = {name: _reached(left, name) for name in left}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in left
        if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


def _without_ends(graph: Graph) -> Graph:
    """What is left when modules that import none of those left are taken away again and again."""
    left = dict(graph)
    while ends := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ends:
            del left[name]
    return {name: needs & left.keys() for name, needs in left.items()}


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def test_no_circle_of_files(repo_root: Path, package_modules: tuple[Path, ...]) -> None:
    assert circles(module_graph(repo_root, package_modules)) == [], (
        "files that import each other: move what both need into a file that neither of them imports back"
    )


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"p/a.py": "import p.b", "p/b.py": "from p import a"}, [["p.a", "p.b"]]),
        (
            {"p/a.py": "from p.b import f", "p/b.py": "from p.c import g", "p/c.py": "import p.a"},
            [["p.a", "p.b", "p.c"]],
        ),
        (
            {"p/a.py": "if TYPE_CHECKING:\n    from p.b import B", "p/b.py": "from p.a import A"},
            [["p.a", "p.b"]],
        ),
        ({"p/__init__.py": "from p.a import A", "p/a.py": "from p import TABLE"}, [["p", "p.a"]]),
        ({"p/a.py": "import p.b", "p/b.py": "import os"}, []),
        ({"p/a.py": "import p.b", "p/b.py": "def f():\n    import p.a"}, [["p.a", "p.b"]]),
    ],
)
def test_a_circle_is_found(files: dict[str, str], found: list[list[str]], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert circles(module_graph(tmp_path, [tmp_path / name for name in files])) == found
