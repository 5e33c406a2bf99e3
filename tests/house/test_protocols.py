"""A Protocol says what several things offer. What only one class offers is that class."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from source_trees import tree_of

Classes = Mapping[tuple[str, str], ast.ClassDef]  # by file and name


@dataclass(frozen=True)
class Code:
    """Files as trees, and the classes in them."""

    files: Mapping[str, ast.Module]

    @cached_property
    def classes(self) -> Classes:
        return {
            (file, node.name): node
            for file, tree in self.files.items()
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }

    @cached_property
    def file_of(self) -> Mapping[str, str]:
        return {name: file for file, name in self.classes}

    def members(self, file: str, name: str) -> frozenset[str]:
        """With those of its bases: of the same file where it has one of that name, else of any."""
        node = self.classes[file, name]
        inherited = [
            self.members(file if (file, base) in self.classes else self.file_of[base], base)
            for base in bases_of(node)
            if base in self.file_of and base != name
        ]
        return frozenset(names_defined(node.body)).union(*inherited)


def code_in(files: Iterable[Path]) -> Code:
    return Code({str(path): tree_of(path.read_text(encoding="utf-8")) for path in files})


def bases_of(node: ast.ClassDef) -> list[str]:
    """Names without modules and parameters."""
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return [base.id for base in bases if isinstance(base, ast.Name)]


def is_protocol(node: ast.ClassDef) -> bool:
    return "Protocol" in bases_of(node)


def names_defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name):
                yield name
                if name == "__init__":
                    yield from _attributes(statement)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def _attributes(init: ast.FunctionDef) -> Iterator[str]:
    """What __init__ gives its object: self.x = ..."""
    stored = (node for node in ast.walk(init) if isinstance(node, ast.Attribute))
    yield from (node.attr for node in stored if isinstance(node.ctx, ast.Store))


def offered_once(packages: Code, tests: Code) -> dict[str, list[str]]:
    """Protocol -> who offers it, where fewer than two classes or modules do; stand-ins of tests count.

    What is only called is a function's type, and functions are not looked for.
    """
    everything = Code({**packages.files, **tests.files})
    offers = [(file, frozenset(names_defined(tree.body))) for file, tree in everything.files.items()]
    offers += [
        (name, everything.members(file, name))
        for (file, name), node in everything.classes.items()
        if not is_protocol(node)
    ]
    found = {}
    for (file, name), node in packages.classes.items():
        wanted = everything.members(file, name)
        if is_protocol(node) and wanted != {"__call__"}:
            found[name] = [who for who, names in offers if wanted <= names]
    return {name: who for name, who in found.items() if len(who) < 2}


def test_no_protocol_has_a_single_implementation(package_modules: tuple[Path, ...], repo_root: Path) -> None:
    assert offered_once(code_in(package_modules), code_in((repo_root / "tests").rglob("*.py"))) == {}


TWO_METHODS = "class Line(Protocol):\n    def read(self): ...\n    def close(self): ...\n"
ONE = "class Pipe:\n    def read(self): ...\n    def close(self): ...\n"
OTHER = "class Base:\n    def read(self): ...\nclass Port(Base):\n    def close(self): ...\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a": TWO_METHODS}, {"Line": []}),
        ({"a": TWO_METHODS, "b": ONE}, {"Line": ["Pipe"]}),
        ({"a": TWO_METHODS, "b": ONE, "c": OTHER}, {}),
        ({"a": TWO_METHODS, "b": ONE, "c": "def read(): ...\ndef close(): ...\n"}, {}),
        ({"a": TWO_METHODS, "b": ONE, "c": "class Half:\n    def read(self): ...\n"}, {"Line": ["Pipe"]}),
        (
            {"a": "class Named(Protocol):\n    name: str\n", "b": "class A:\n    name = 'a'\n"},
            {"Named": ["A"]},
        ),
        ({"a": "class Clock(Protocol):\n    def __call__(self): ...\n"}, {}),
    ],
)
def test_a_protocol_that_one_offers_is_found(files: dict[str, str], found: dict[str, list[str]]) -> None:
    assert offered_once(Code({name: tree_of(text) for name, text in files.items()}), Code({})) == found
