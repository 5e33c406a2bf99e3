"""Generated C is a tree until it is printed: nobody looks for anything in its text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from source_trees import nodes_of

ROOMS = ("codegen", "platforms/tuning")
# One makes identifiers of what a model calls its tensors, one reads sizes from a command line, one reads
# what another compiler says, one finds functions in the C library that a user has, one what a user's C calls.
READS_USERS_TEXT = {
    "codegen/accelerators/cmsis_nn/library.py",
    "codegen/accelerators/ethos_u/vela.py",
    "codegen/c/names.py",
    "codegen/lang/users_c.py",
    "codegen/option_kinds.py",
}
# What reads the C text of a helper, and why. All else asks helpers for what they state of it.
READS_DEFINITIONS = {
    "codegen/c/helper_library.py": "has them printed, and refuses two of one name",
    "codegen/c/function_size.py": "counts operators: how long C is that a person wrote, only its text knows",
    "codegen/loops/ir.py": "says whether there is one",
    "codegen/lang/loops_op.py": "makes a key of a user's kernel: other C is another kernel",
    "deploy/building.py": "refuses two of one name",
}


def imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in nodes_of(module.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.slow
def test_no_module_that_makes_c_searches_text(repo_root: Path) -> None:
    modules = [path for room in ROOMS for path in sorted((repo_root / room).rglob("*.py"))]
    searching = {path.relative_to(repo_root).as_posix() for path in modules if "re" in imported(path)}
    assert searching == READS_USERS_TEXT


@pytest.mark.slow
def test_nobody_reads_the_c_of_helpers(package_modules: tuple[Path, ...], repo_root: Path) -> None:
    reading = {path.relative_to(repo_root).as_posix() for path in package_modules if reads_definitions(path)}
    assert reading == set(READS_DEFINITIONS)


def reads_definitions(module: Path) -> bool:
    nodes = nodes_of(module.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.Attribute) and node.attr == "definition" and isinstance(node.ctx, ast.Load)
        for node in nodes
    )
