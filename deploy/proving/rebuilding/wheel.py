"""Builds the wheel of this source tree twice: in place, and from a copy in another folder."""

from __future__ import annotations

import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

from aot.errors import MissingToolError
from aot.trust import module_argv
from deploy.proving.rebuilding.twice import RebuildResult, twice
from deploy.proving.tool_run import run_tool

_NEEDED = ("pyproject.toml", "README.md", "LICENSE")
_PAGES = "docs"  # also included in the wheel
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


def source_tree() -> Path | None:
    """Returns the source tree that this program runs from, or None if it was installed."""
    tree = Path(__file__).resolve().parents[3]
    return tree if (tree / "pyproject.toml").is_file() and (tree / "Makefile").is_file() else None


def wheel_again(tree: Path, folder: Path) -> RebuildResult:
    """Builds the wheel twice. Raises MissingToolError without hatchling."""
    if find_spec("hatchling") is None:
        raise MissingToolError(
            "the Python package hatchling, which builds wheels, is not installed",
            hint="pip install hatchling",
        )
    copy = folder / "copy of the tree"
    copy.mkdir(parents=True)
    for name in (*packages_of(tree), _PAGES):
        shutil.copytree(tree / name, copy / name, ignore=_NOT_COPIED)
    for name in _NEEDED:
        shutil.copy(tree / name, copy / name)
    wheels = [_wheel(each, folder / f"wheel {n}") for n, each in enumerate((tree, copy))]
    return twice("wheel", [each.read_bytes() for each in wheels], _differing(*wheels))


def packages_of(tree: Path) -> list[str]:
    """Returns the top-level folders that are packages of the wheel."""
    return sorted(path.parent.name for path in tree.glob("*/py.typed"))


def _wheel(tree: Path, out: Path) -> Path:
    run_tool((*module_argv("hatchling"), "build", "-t", "wheel", "-d", str(out)), tree)
    return next(out.glob("*.whl"))


def _differing(first: Path, second: Path) -> list[str]:
    """Returns the names of files that differ."""
    with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
        sums = [{info.filename: info.CRC for info in each.infolist()} for each in (a, b)]
    return sorted(name for name in {**sums[0], **sums[1]} if sums[0].get(name) != sums[1].get(name))
