"""Each kind of error has a code and a page, and pages that messages name exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_trees import nodes_of

from aot.errors import DeployError, FitError
from deploy.cli.commands import COMMANDS
from deploy.cli.docs_pages import error_pages, manual_pages, page_of, shown

INTRODUCTION = """\
# Errors

Every error of the command line has a code, as in `error[E301]: ...`; `deploy help E301` prints its section. A code
never changes its meaning. In Python each kind is a class, and the text is `str(error)`. This page is written by
`make golden` from `deploy/cli/error_pages.toml`.

| code | kind | meaning |
|---|---|---|
"""
_DOC = re.compile(r"`deploy docs ([\w-]+)`")


def kinds(modules: tuple[Path, ...]) -> dict[str, str]:
    """The classes made from DeployError by name, each with its base."""
    bases = {
        node.name: base.id
        for path in modules
        for node in nodes_of(path.read_text(encoding="utf-8"))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    return {name: base for name, base in bases.items() if "DeployError" in ancestors(name, bases)}


def ancestors(name: str, bases: dict[str, str]) -> set[str]:
    return {bases[name]} | ancestors(bases[name], bases) if name in bases else set()


def errors_page() -> str:
    pages = error_pages().values()
    rows = "".join(f"| [{p.code}](#{p.code.lower()}) | `{p.kind}` | {p.title} |\n" for p in pages)
    parts = (f"\n## {p.code}\n\n**{p.title}**: {p.meaning}\n\n{_steps(p.hints)}" for p in pages)
    return INTRODUCTION + rows + "".join(parts)


def _steps(ways: tuple[str, ...]) -> str:
    linked = (_DOC.sub(r"[\g<0>](\1.md)", way) for way in ways)
    return "".join(f"- {way}\n" for way in linked)


def test_every_kind_of_error_has_a_page(package_modules):
    assert kinds(package_modules).keys() == {page.kind for page in error_pages().values()}


def test_codes_are_given_once_and_stay(golden):
    """A line that goes or changes here breaks what people have written down: add lines."""
    pages = error_pages()
    assert len({page.kind for page in pages.values()}) == len(pages)
    golden("codes.txt", "".join(f"{code} {page.kind}\n" for code, page in pages.items()))


def test_the_page_is_what_the_table_says(repo_root, generated):
    generated(repo_root / "docs" / "errors.md", errors_page())


@pytest.mark.parametrize("code", error_pages())
def test_a_page_names_what_there_is(code):
    text = str(error_pages()[code])
    assert set(_DOC.findall(text)) <= manual_pages().keys()
    commands = set(re.findall(r"`?deploy ([a-z-]+)", text)) - {"help"}
    assert commands <= COMMANDS.keys()


def test_somebody_elses_kind_has_the_code_of_ours():
    class TheirError(FitError):
        """An error of a package outside."""

    assert shown(TheirError("too much", "there", "less")).splitlines() == [
        "error[E301]: too much",
        "  there",
        "  hint: less",
    ]
    assert page_of(DeployError("anything")) is None
    assert shown(DeployError("anything")) == "error: anything"


@pytest.mark.parametrize("word", ["E301", "e301"])
def test_help_prints_the_page(word, run_deploy):
    said = run_deploy("help", word)
    assert (said.status, said.out) == (0, f"{error_pages()['E301']}\n")


def test_help_for_a_code_that_is_not_there(run_deploy):
    said = run_deploy("help", "E399")
    assert (said.status, said.code) == (2, "E101")
    assert said.err.startswith("error: there is no error E399")


def test_an_error_of_the_command_line_begins_with_its_code(own_folders, capsys):
    from deploy.__main__ import main

    assert main(["boards", "show", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("error[E402]: ")


SHOWN_BY = re.compile(r"\bdeploy docs ([a-z][\w/-]*)")
A_FILE = re.compile(r"\bdocs/[\w/-]+\.md")
A_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_every_page_that_is_named_can_be_shown(package_files):
    texts = [path.read_text(encoding="utf-8") for path in package_files if b"\0" not in path.read_bytes()]
    named = {name for text in texts for name in SHOWN_BY.findall(text)}
    assert len(named) > 10
    assert named <= manual_pages().keys() | {"lists"}  # "list all pages with: deploy docs"


def test_no_message_names_a_file_that_only_the_tree_has(package_modules):
    assert not [
        (path, text) for path in package_modules for text in _messages(path) if A_FILE.search(text)
    ], "a wheel has no docs folder: write `deploy docs PAGE` instead of docs/PAGE.md"


def test_no_file_that_users_get_names_one_either(package_files):
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
