"""Requirements of the runtime: the page has them, each of its files of C meets one, and their tests exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from deploy.proving.tracing.requirements import Requirement, requirements


def as_on_the_page(each: Requirement) -> str:
    lines = [", ".join(f"`{name}`" for name in each.code), *(f"`{test}`" for test in each.tests)]
    return f"**{each.name}** {each.text}\n\n" + "".join(f"- {line}\n" for line in lines)


def lacks(each: Requirement, root: Path) -> Iterator[str]:
    """The files and the tests that a requirement names and that are not there."""
    yield from (name for name in each.code if not (root / "project_templates" / "common" / name).is_file())
    for test in each.tests:
        file, _, name = test.partition("::")
        body = ast.parse((root / file).read_text(encoding="utf-8")).body if (root / file).is_file() else []
        if name not in {part.name for part in body if isinstance(part, ast.FunctionDef)}:
            yield test


def test_the_page_has_each_requirement_with_its_files_and_tests(repo_root: Path) -> None:
    page = (repo_root / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert [each for each in requirements() if as_on_the_page(each) not in page] == []
    assert re.findall(r"^\*\*(R\d+)\*\*", page, re.MULTILINE) == [each.name for each in requirements()]


def test_each_requirement_has_tests_and_files_that_exist(repo_root: Path) -> None:
    assert [lack for each in requirements() for lack in lacks(each, repo_root)] == []
    assert all(each.tests and each.code for each in requirements())


def test_each_file_of_the_runtime_meets_a_requirement(repo_root: Path) -> None:
    files = {path.name for path in (repo_root / "project_templates" / "common").glob("*.c")}
    assert files - {name for each in requirements() for name in each.code} == set()


def test_what_is_not_there_is_found(repo_root: Path) -> None:
    here = "tests/docs/test_requirements.py::test_what_is_not_there_is_found"
    gone = Requirement(1, "Gone.", ("solder_gone.c",), (f"{here}_any_more", here, "tests/gone.py::test_it"))
    assert list(lacks(gone, repo_root)) == ["solder_gone.c", f"{here}_any_more", "tests/gone.py::test_it"]
