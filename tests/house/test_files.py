"""Rules about files that no stock tool checks; CONTRIBUTING.md lists them with their fixes."""

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from source_trees import tree_of

from deploy.cli.docs_pages import manual_pages

# Folders of one person's machine.
MACHINE_PATH = re.compile(r"(?<![\w.)\]}>*/:$-])/(?:home|Users|root|tmp|var|mnt|srv|work\w*)/[\w./-]*\w")
TABLE_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_a_package_init_is_empty_or_a_table(package_modules):
    """Code there makes import cycles that import-linter does not report. `deploy` is the Python API."""
    busy = []
    for path in package_modules:
        if path.name != "__init__.py" or path.parent.name in ("deploy", "solder"):
            continue
        _, *statements = tree_of(source(path)).body or [None]  # type: ignore[list-item]
        if not all(isinstance(statement, TABLE_STATEMENTS) for statement in statements):
            busy.append(path)
    assert not busy, "keep imports and tables in __init__.py; move the functions and classes to a module"


def test_no_path_of_one_machine_is_named(repo_files):
    texts = {
        path: source(path) for path in repo_files if path != Path(__file__) and b"\0" not in path.read_bytes()
    }
    found = {path: MACHINE_PATH.findall(text) for path, text in texts.items()}
    assert not {path: places for path, places in found.items() if places}, (
        "a path of one machine: write it relative to the repository, or as FOLDER/... in an example"
    )


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
def test_a_path_of_one_machine_is_distinguished_from_others(text, is_a_machine_path):
    assert bool(MACHINE_PATH.search(text)) == is_a_machine_path


def test_changelog_fragments_are_named_by_kind_and_subject(repo_root):
    fragments = [p.name for p in (repo_root / "docs" / "changes").iterdir() if p.name != "README.md"]
    wrong = [f for f in fragments if not re.fullmatch(r"(added|changed|fixed|removed)-[a-z0-9-]+\.md", f)]
    assert not wrong, "rename: <added|changed|fixed|removed>-<what>.md, lower case and hyphens"


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages(repo_root, package_files, tmp_path, require_package):
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
