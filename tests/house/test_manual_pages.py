"""What a user is told to read is there: pages are named by the command that shows them, wheel or not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from source_trees import nodes_of

from deploy.cli.docs_pages import manual_pages

SHOWN_BY = re.compile(r"\bdeploy docs ([a-z][\w/-]*)")
A_FILE = re.compile(r"\bdocs/[\w/-]+\.md")
A_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_every_page_that_is_named_can_be_shown(package_files: tuple[Path, ...]) -> None:
    texts = [path.read_text(encoding="utf-8") for path in package_files if b"\0" not in path.read_bytes()]
    named = {name for text in texts for name in SHOWN_BY.findall(text)}
    assert len(named) > 10
    assert named <= manual_pages().keys() | {"lists"}  # "list all pages with: deploy docs"


def test_no_message_names_a_file_that_only_the_tree_has(package_modules: tuple[Path, ...]) -> None:
    assert not [
        (path, text) for path in package_modules for text in _messages(path) if A_FILE.search(text)
    ], "a wheel has no docs folder: write `deploy docs PAGE` instead of docs/PAGE.md"


def test_no_file_that_users_get_names_one_either(package_files: tuple[Path, ...]) -> None:
    """All but the first line, which says to maintainers where a file of ours belongs."""
    others = [path for path in package_files if path.suffix != ".py" and b"\0" not in path.read_bytes()]
    texts = {path: path.read_text(encoding="utf-8").partition("\n")[2] for path in others}
    assert not {path for path, text in texts.items() if A_FILE.search(text)}, "write `deploy docs PAGE`"


def _messages(path: Path) -> Iterator[str]:
    """Yields the strings of a module that are not docstrings."""
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    described = (node.body[0] for node in nodes if isinstance(node, A_DOCSTRING) and node.body)
    docstrings = {id(first.value) for first in described if isinstance(first, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
