"""Each reason that a pass can give is given in one of the text cases, where people read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSES = Path(__file__).parents[2] / "aot" / "passes"
FOLDERS = ("meaning", "regions", "placement", "variant")
OF_TABLES = (file for folder in FOLDERS for file in PASSES.glob(f"{folder}/*.py"))
FILES = sorted((*OF_TABLES, PASSES / "values.py"))
LEAST_WORDS = 4  # fewer may be a part of a name


def sentences(code: str) -> Iterator[str]:
    """The longest part without a value in it of each text, docstrings left out."""
    tree = ast.parse(code)
    left_out = set(_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in ast.walk(node))
            yield max((str(part.value) for part in node.values if isinstance(part, ast.Constant)), key=len)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield id(first.value)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_reason_is_given_in_a_case(file: Path) -> None:
    cases = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.txt"))
    reasons = [
        text for text in sentences(file.read_text(encoding="utf-8")) if len(text.split()) >= LEAST_WORDS
    ]
    assert not [text for text in reasons if text not in cases]


def test_a_reason_is_found_in_code() -> None:
    code = '"""Docs."""\ndef f(x):\n    """What f does."""\n    return f\'reads "{x}", which no layer makes\''
    assert [*sentences(code)] == ['", which no layer makes']
