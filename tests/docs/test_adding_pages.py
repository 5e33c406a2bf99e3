"""The pages docs/adding-*.md are carried out in a copy of the tree.

A fenced block says by its first line what it is: `python aot/ops/x.py` a new file, `diff aot/ops/__init__.py`
a change, `sh` commands. A diff shows the lines around the change, which the file must hold exactly once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS

COPIED = (
    *("aot", "codegen", "artifact", "boards", "platforms", "project_templates", "deploy", "solder", "tests"),
)
BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r'^\+ +"([^"]+)":', re.MULTILINE)  # that a diff adds to a table
PAGES = sorted((Path(__file__).parents[2] / "docs").glob("adding-*.md"))
TOPICS = {"accelerator", "board", "command", "op", "pass", "platform", "schedule"}


def test_there_is_a_page_for_each_thing_people_add() -> None:
    assert {re.sub(r"adding-an?-", "", page.stem) for page in PAGES} == TOPICS


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, repo_root: Path, tmp_path: Path) -> None:
    copy_tree(repo_root, tmp_path)
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert any(kind == "sh" for kind, _, _ in blocks), "a page that runs nothing shows nothing"
    for kind, file_name, text in blocks:
        carry_out(kind, tmp_path / file_name if file_name else None, text, tmp_path)


def test_the_example_of_an_op_is_one_that_is_not_there() -> None:
    page = next(page for page in PAGES if page.stem == "adding-an-op").read_text(encoding="utf-8")
    added = {text for kind, _, diff in BLOCK.findall(page) if kind == "diff" for text in NAMES.findall(diff)}
    assert added == {"median", "CUSTOM MedianOfThree"}
    assert not added & ({*OPS} | {*IMPORTERS})


def copy_tree(source: Path, target: Path) -> None:
    shutil.copy(source / "pyproject.toml", target)
    for folder in COPIED:
        shutil.copytree(source / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))


def carry_out(kind: str, path: Path | None, text: str, tree: Path) -> None:
    if kind == "sh":
        for line in text.splitlines():
            run(line, tree)
    elif kind == "diff" and path is not None:
        edit(path, text)
    elif path is not None:
        assert not path.exists(), f"{path.relative_to(tree)} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def edit(path: Path, diff: str) -> None:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{path.name} holds these lines {text.count(before)} times:\n{before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def run(command: str, tree: Path) -> None:
    """`python` and `deploy` are this Python's, and find the copy's packages before the installed ones.

    What a page has pip put into the folder `site` is found, too.
    """
    program, *arguments = shlex.split(command)
    argv = [sys.executable, *(["-m", "deploy"] if program == "deploy" else []), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree), str(tree / "site")))}
    done = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
