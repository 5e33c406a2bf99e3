"""The pages docs/adding-*.md are carried out in a copy of the tree."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from adding_pages import PageBlock, blocks_of, write
from tree_copies import copy_folders

from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS

COPIED = (
    *(
        "aot",
        "codegen",
        "extensions",
        "artifact",
        "boards",
        "platforms",
        "project_templates",
        "deploy",
        "solder",
        "tests",
    ),
)
NAMES = re.compile(r'"([^"]+)":')  # of tables
PAGES = sorted((Path(__file__).parents[2] / "docs").glob("adding-*.md"))
# What people add -> the most lines that files of the tree get for it; a strategy goes into its kernel.
TOPICS = {"accelerator": 0, "board": 0, "command": 1, "op": 3, "pass": 1, "platform": 3, "strategy": 16}


def test_there_is_a_page_for_each_thing_people_add():
    assert {topic_of(page) for page in PAGES} == TOPICS.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_added_takes_few_lines_in_other_files(page):
    assert len([line for block in blocks_of(page) for line in block.added if line]) <= TOPICS[topic_of(page)]


def topic_of(page: Path) -> str:
    return re.sub(r"adding-an?-", "", page.stem)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page, repo_root, tmp_path):
    copy_tree(repo_root, tmp_path)
    blocks = blocks_of(page)
    assert any(block.kind == "sh" for block in blocks), "a page that runs nothing shows nothing"
    for block in blocks:
        carry_out(block, tmp_path)


def test_the_example_of_an_op_is_one_that_is_not_there():
    blocks = blocks_of(next(page for page in PAGES if page.stem == "adding-an-op"))
    added = {name for block in blocks for line in block.added for name in NAMES.findall(line)}
    assert added == {"median", "medians"}, "an op, and the file of its importer"
    assert "CUSTOM MedianOfThree" in "".join(block.text for block in blocks)
    assert not {*added, "CUSTOM MedianOfThree"} & ({*OPS} | {*IMPORTERS})


def copy_tree(source: Path, target: Path) -> None:
    shutil.copy(source / "pyproject.toml", target)
    copy_folders(source, COPIED, target)


def carry_out(block: PageBlock, tree: Path) -> None:
    if block.kind == "sh":
        for line in block.text.splitlines():
            run(line, tree)
    elif block.file_name:
        write(block, tree)


def run(command: str, tree: Path) -> None:
    """`python` and `deploy` are this Python's, and find the copy's packages before the installed ones.

    What a page has pip put into the folder `site` is found, too.
    """
    program, *arguments = shlex.split(command)
    argv = [sys.executable, *(["-m", "deploy"] if program == "deploy" else []), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree), str(tree / "site")))}
    done = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
