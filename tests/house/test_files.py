"""Each file says its one idea first, keeps to one idea, and leaves nothing for later."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from source_trees import tree_of

from deploy.manual import manual_pages

# What the first line of a file begins with, by the file name's ending.
FIRST_LINES = {
    ".py": '"""',
    ".c": "/*",
    ".h": "/*",
    ".ld": "/*",
    ".S": "/*",
    ".toml": "#",
    ".md": "#",
}
NO_DOMAIN = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
# An operator that leaves its operands to the other one's class says `return NotImplemented`.
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|(?<!return )NotImplemented\b(?!Error))")
# Folders in which one person's files lie.
MACHINE_PATH = re.compile(r"(?<![\w.)\]}>*/:$-])/(?:home|Users|root|tmp|var|mnt|srv|work\w*)/[\w./-]*\w")
MOST_LINES = 400
TABLE_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def texts(files: tuple[Path, ...]) -> list[tuple[Path, str]]:
    """The files that hold text, except this one, which names what it looks for."""
    return [
        (path, source(path)) for path in files if path != Path(__file__) and b"\0" not in path.read_bytes()
    ]


def test_the_first_line_says_the_idea(package_files: tuple[Path, ...]) -> None:
    assert not [path for path in package_files if not says_its_idea(path)]


def says_its_idea(path: Path) -> bool:
    """Templates are judged as what they become."""
    kind = Path(path.name.removesuffix(".jinja")).suffix
    if kind not in FIRST_LINES or path.name == "__init__.py":
        return True
    return source(path).startswith(FIRST_LINES[kind])


def test_tests_say_their_idea_too(repo_files: tuple[Path, ...]) -> None:
    tests = [path for path in repo_files if path.suffix == ".py"]
    assert not [path for path in tests if source(path) and not source(path).startswith('"""')]


def test_a_package_init_is_empty_or_a_table(package_modules: tuple[Path, ...]) -> None:
    """Code there makes import cycles that no other check reports. `deploy` is the Python API."""
    busy = []
    for path in package_modules:
        if path.name != "__init__.py" or path.parent.name in ("deploy", "solder"):
            continue
        _, *statements = tree_of(source(path)).body or [None]  # type: ignore[list-item]
        if not all(isinstance(statement, TABLE_STATEMENTS) for statement in statements):
            busy.append(path)
    assert not busy


def test_no_file_is_named_for_nothing(repo_files: tuple[Path, ...]) -> None:
    assert not [path for path in repo_files if path.suffix == ".py" and path.stem in NO_DOMAIN]


def test_no_file_holds_more_than_one_idea(package_files: tuple[Path, ...]) -> None:
    code = [path for path in package_files if path.suffix in {".py", ".c", ".h"}]
    assert not [path for path in code if len(source(path).splitlines()) > MOST_LINES]


def test_nothing_is_left_for_later(repo_files: tuple[Path, ...]) -> None:
    assert not [path for path, text in texts(repo_files) if UNFINISHED.search(text)]


def test_no_path_of_one_machine_is_named(repo_files: tuple[Path, ...]) -> None:
    found = {path: MACHINE_PATH.findall(text) for path, text in texts(repo_files)}
    assert not {path: places for path, places in found.items() if places}


@pytest.mark.parametrize(
    ("text", "is_a_machine_path"),
    [
        ("see '/home/someone/x.py'", True),
        ("(/var/tmp/x)", True),
        ("the port /dev/ttyACM0", False),
        ("made up: /p/build/firmware.elf", False),
        ("https://example.org/a/b", False),
        ("in aot/ops/add.py", False),
    ],
)
def test_a_path_of_one_machine_is_distinguished_from_others(text: str, is_a_machine_path: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) == is_a_machine_path


def test_changelog_fragments_are_named_by_kind_and_subject(repo_root: Path) -> None:
    fragments = [p.name for p in (repo_root / "docs" / "changes").iterdir() if p.name != "README.md"]
    assert not [f for f in fragments if not re.fullmatch(r"(added|changed|fixed|removed)-[a-z0-9-]+\.md", f)]


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages(
    repo_root: Path,
    package_files: tuple[Path, ...],
    tmp_path: Path,
    require_package: Callable[..., None],
) -> None:
    require_package("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=repo_root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert not {path.relative_to(repo_root).as_posix() for path in package_files} - held
    assert {name for name in held if name.startswith("deploy/pages/")} == {
        f"deploy/pages/{name}.md" for name in manual_pages()
    }
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    shown = subprocess.run(
        [sys.executable, "-m", "deploy", "docs", "tutorials/own-op"],
        cwd=tmp_path / "installed",
        check=True,
        capture_output=True,
    )
    assert shown.stdout.decode().rstrip() == source(repo_root / "docs" / "tutorials" / "own-op.md").rstrip()
