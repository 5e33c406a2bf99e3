"""Copies of the tree's folders, with bytecode: Python would compile all of Solder anew for each copy."""

import shutil
from collections.abc import Iterable
from pathlib import Path

_HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*")  # bytecode of a process that runs at the same time


def copy_folders(source: Path, names: Iterable[str], target: Path) -> None:
    for name in names:
        shutil.copytree(source / name, target / name, ignore=_HALF_WRITTEN)
