"""Graphs are built by importers and rewritten by passes, nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from source_trees import nodes_of

# Importers build graphs, fronts and backs put nodes around them, passes rewrite them, aot/ir reads text.
MAKERS = ("aot/ir", "aot/frontend", "aot/fronts", "aot/backs", "aot/passes")


def makes_graphs(code: str) -> bool:
    """Whether the code makes a graph: a new one, or one that has other nodes."""
    return any(_makes_graph(node) for node in nodes_of(code) if isinstance(node, ast.Call))


def _makes_graph(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    changes_nodes = name == "replace" and any(keyword.arg == "nodes" for keyword in call.keywords)
    return name in ("Graph", "with_nodes") or changes_nodes


def test_only_importers_and_passes_make_graphs(repo_root: Path, package_modules: tuple[Path, ...]) -> None:
    names = {path.relative_to(repo_root).as_posix(): path for path in package_modules}
    others = {name: path for name, path in names.items() if not name.startswith(MAKERS)}
    assert not [name for name, path in others.items() if makes_graphs(path.read_text(encoding="utf-8"))], (
        f"graphs are built or rewritten in {', '.join(MAKERS)} only: make this a pass (docs/adding-a-pass.md)"
    )


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("graph.with_nodes(kept)", True),
        ("replace(graph, nodes=kept)", True),
        ("dataclasses.replace(graph, nodes=kept)", True),
        ("Graph('g', (), (), (), {})", True),
        ("replace(node, inputs=())", False),
        ("print(graph.nodes)", False),
    ],
)
def test_making_a_graph_is_found(code: str, is_found: bool) -> None:
    assert makes_graphs(code) == is_found
