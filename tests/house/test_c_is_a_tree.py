"""Generated C is a tree until it is printed: nobody looks for anything in its text."""

from __future__ import annotations

import ast
from pathlib import Path

from source_trees import tree_of

ROOMS = ("codegen", "platforms/tuning")
# One makes identifiers of what a model calls its tensors, one reads sizes from a command line, one reads
# what another compiler says, one finds functions in the C library that a user has.
READS_USERS_TEXT = {
    "codegen/accelerators/cmsis_nn/library.py",
    "codegen/accelerators/ethos_u/vela.py",
    "codegen/c/names.py",
    "codegen/option_kinds.py",
}


def imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree_of(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_no_module_that_makes_c_searches_text(repo_root: Path) -> None:
    modules = [path for room in ROOMS for path in sorted((repo_root / room).rglob("*.py"))]
    searching = {path.relative_to(repo_root).as_posix() for path in modules if "re" in imported(path)}
    assert searching == READS_USERS_TEXT
