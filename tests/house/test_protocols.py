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
class Parameters:
    """The names of a function's parameters, and how many of them have no default."""

    names: tuple[str, ...]
    needed: int
    more: bool = False  # any others, too

    def serve(self, caller: Parameters) -> bool:
        """True where this can be called as `caller` may be. Underscores around a name are no matter."""
        given = zip(self.names, caller.names, strict=False)
        return self.needed <= caller.needed and (
            self.more
            or (
                len(caller.names) <= len(self.names)
                and all(mine.strip("_") == theirs.strip("_") for mine, theirs in given)
            )
        )


NOT_CALLED = Parameters((), needed=10**6)
Members = Mapping[str, Parameters | None]  # by name; what may hold any function has None


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

    def members(self, file: str, name: str) -> Members:
        """With those of its bases: of the same file where it has one of that name, else of any."""
        node = self.classes[file, name]
        found: dict[str, Parameters | None] = {}
        for base in reversed(bases_of(node)):
            if base in self.file_of and base != name:
                found |= self.members(file if (file, base) in self.classes else self.file_of[base], base)
        return found | dict(defined(node.body, is_class=True))


def code_in(files: Iterable[Path]) -> Code:
    return Code({str(path): tree_of(path.read_text(encoding="utf-8")) for path in files})


def bases_of(node: ast.ClassDef) -> list[str]:
    """Names without modules and parameters."""
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return [base.id for base in bases if isinstance(base, ast.Name)]


def is_protocol(node: ast.ClassDef) -> bool:
    return "Protocol" in bases_of(node)


def defined(body: Iterable[ast.stmt], is_class: bool = False) -> Iterator[tuple[str, Parameters | None]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name):
                yield name, _parameters(statement, is_class)
                if name == "__init__":
                    yield from ((attribute, None) for attribute in _attributes(statement))
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind):
                yield name, None if _holds_a_function(kind) else NOT_CALLED
            case ast.Assign(targets=targets):
                yield from ((target.id, None) for target in targets if isinstance(target, ast.Name))


def _holds_a_function(kind: ast.expr) -> bool:
    names = (node for node in ast.walk(kind) if isinstance(node, ast.Name))
    return any("Callable" in name.id for name in names)


def _parameters(function: ast.FunctionDef, is_method: bool) -> Parameters | None:
    """What a caller gives: a method gets its object by itself, a property is a value."""
    decorators = {node.id for node in function.decorator_list if isinstance(node, ast.Name)}
    if decorators & {"property", "cached_property"}:
        return None
    given = function.args
    own = int(is_method and "staticmethod" not in decorators)
    names = tuple(each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))[own:]
    optional = len(given.defaults) + sum(default is not None for default in given.kw_defaults)
    return Parameters(names, len(names) - optional, bool(given.vararg or given.kwarg))


def offers_all(offered: Members, wanted: Members) -> bool:
    """True where whatever the Protocol lets a caller say, can be said."""
    return all(name in offered and _serves(offered[name], caller) for name, caller in wanted.items())


def _serves(mine: Parameters | None, caller: Parameters | None) -> bool:
    return mine is None or caller in (None, NOT_CALLED) or mine.serve(caller)


def _attributes(init: ast.FunctionDef) -> Iterator[str]:
    """What __init__ gives its object: self.x = ..."""
    stored = (node for node in ast.walk(init) if isinstance(node, ast.Attribute))
    yield from (node.attr for node in stored if isinstance(node.ctx, ast.Store))


def offered_once(packages: Code, tests: Code) -> dict[str, list[str]]:
    """Protocol -> who offers it, where fewer than two classes or modules do; stand-ins of tests count.

    What is only called is a function's type, and functions are not looked for.
    """
    everything = Code({**packages.files, **tests.files})
    offers: list[tuple[str, Members]] = [
        (file, dict(defined(tree.body))) for file, tree in everything.files.items()
    ]
    offers += [
        (name, everything.members(file, name))
        for (file, name), node in everything.classes.items()
        if not is_protocol(node)
    ]
    found = {}
    for (file, name), node in packages.classes.items():
        wanted = everything.members(file, name) if is_protocol(node) else {}
        if wanted and set(wanted) != {"__call__"}:
            found[name] = [who for who, offered in offers if offers_all(offered, wanted)]
    return {name: who for name, who in found.items() if len(who) < 2}


@pytest.mark.slow
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
        (
            {
                "a": "class Keeper(Protocol):\n    def add(self, record): ...\n",
                "b": "class File:\n    def add(self, record): ...\n",
                "c": "class Sum:\n    def add(self, one, other): ...\n",
                "d": "class Clock:\n    def add(self): ...\n",
                "e": "class Builder:\n    def add(self, node): ...\n",
                "f": "class Conv:\n    add: Add\n",
            },
            {"Keeper": ["File"]},
        ),
        (
            {
                "a": "class Keeper(Protocol):\n    def add(self, record): ...\n",
                "b": "class File:\n    def add(self, record, at=0): ...\n",
                "c": "def add(*records): ...\n",
            },
            {},
        ),
        ({"a": "class Clock(Protocol):\n    def __call__(self): ...\n"}, {}),
    ],
)
def test_a_protocol_that_one_offers_is_found(files: dict[str, str], found: dict[str, list[str]]) -> None:
    assert offered_once(Code({name: tree_of(text) for name, text in files.items()}), Code({})) == found
