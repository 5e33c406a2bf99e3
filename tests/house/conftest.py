"""What the tests of the house look at: the files of this repository, as they lie there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = (
    "aot",
    "codegen",
    "extensions",
    "artifact",
    "boards",
    "platforms",
    "project_templates",
    "deploy",
    "solder",
)
BESIDE = (".ci", ".github", "tests", "benchmarks", "docs")
LEFT_OUT = {"__pycache__"}


def files_in(folders: tuple[str, ...], root: Path) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and not LEFT_OUT & set(path.parts):
                yield path


@pytest.fixture(scope="session")
def package_names():
    return PACKAGES


@pytest.fixture(scope="session")
def package_files(repo_root):
    """Every file of the packages, data included."""
    return tuple(files_in(PACKAGES, repo_root))


@pytest.fixture(scope="session")
def package_modules(package_files):
    return tuple(path for path in package_files if path.suffix == ".py")


@pytest.fixture(scope="session")
def repo_files(repo_root):
    """Every file of the repository; a work tree of git has a file of git's own, which names its place."""
    at_the_root = (p for p in sorted(repo_root.iterdir()) if p.is_file() and p.name != ".git")
    return (*at_the_root, *files_in((*PACKAGES, *BESIDE), repo_root))
