"""Docstrings are sentences: they begin as one, end with a full stop, and are not a clause alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_trees import nodes_of

# A docstring that begins with one of these was never a sentence: "Of a thing, by name.", "What is told."
CLAUSES = {"That", "What", "When", "Where", "Whether", "Which", "Who", "Whoever", "Whose", "Why", "How"}
PREPOSITIONS = {"At", "Behind", "Beside", "By", "For", "From", "In", "Of", "On", "Over", "Past", "To"}
REST = {"Those", "With", "Without", "While"}
FORMULA = re.compile(r"""[(\[\d"]|[\w+, ]+: |\w+[\[(]|\w*[\d_]\w* |for \w+ in |\w+ ([/*@+=-]|[+]=) """)
FRAGMENTS = CLAUSES | PREPOSITIONS | REST

# Its docstrings are also the comments of a generated C header, above the names that they introduce.
COMMENTS_IN_C = "platforms/rpc/protocol.py"


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in nodes_of(text):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            written = ast.get_docstring(node)
            if written is not None:
                yield node.body[0].lineno, written


def fault(docstring: str) -> str:
    """The reason why the first paragraph of a docstring is not a sentence; "" where it may be one."""
    paragraph = docstring.partition("\n\n")[0].strip()
    if not paragraph:
        return "says nothing"
    first = paragraph.split()[0].rstrip(",.:;")
    if first in FRAGMENTS:
        return f'begins with "{first}"'
    # A program's name may begin one, in the quotes of code, an op's or a formula: exp(x), [rows, 2].
    if not (paragraph[0].isupper() or paragraph[0] == "`" or FORMULA.match(paragraph)):
        return "does not begin with a capital letter"
    if not paragraph.endswith((".", ":", '."')):
        return "does not end with a full stop"
    return ""


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Of a thing, by name.", 'begins with "Of"'),
        ("What is told.", 'begins with "What"'),
        ("Those that are ready.", 'begins with "Those"'),
        ("Whether it is there.", 'begins with "Whether"'),
        ("[name]", "does not end with a full stop"),
        ("name", "does not begin with a capital letter"),
        ("its own, or another's.", "does not begin with a capital letter"),
        ("The layout of a tensor", "does not end with a full stop"),
        ("", "says nothing"),
        ("True where the file is there.", ""),
        ("`deploy build` makes firmware.", ""),
        ("(mult, shift) of a product.", ""),
        ("round(a * b / 2**31), half up.", ""),
        ("x / its norm; 0 where the norm is 0.", ""),
        ("reduce, arg_extreme: each result from all its elements.", ""),
        ("sums[i][j] += x[i] * w[j].", ""),
        ("Reads a file.\n\nof several lines", ""),
    ],
)
def test_the_commonest_fragments_are_found(docstring: str, expected: str) -> None:
    assert fault(docstring) == expected


def test_docstrings_are_sentences(package_modules: tuple[Path, ...], repo_root: Path) -> None:
    faults = []
    for path in package_modules:
        name = path.relative_to(repo_root).as_posix()
        if name != COMMENTS_IN_C:
            found = ((line, fault(written)) for line, written in docstrings(path.read_text(encoding="utf-8")))
            faults += [f"{name}:{line} {what}" for line, what in found if what]
    assert faults == []
