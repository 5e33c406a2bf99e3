"""A file of the user's that hides one of Solder's packages is named, before anything else is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from error_facts import require_facts

NAMES = ("aot", "artifact", "boards", "codegen", "platforms", "project_templates")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_a_file_beside_a_script_is_named(name: str, form: str, tmp_path: Path) -> None:
    hiding = tmp_path / form.format(name)
    hiding.parent.mkdir(exist_ok=True)
    hiding.write_text("raise SystemExit('it was imported')\n")
    (tmp_path / "mine.py").write_text("import deploy\n")
    done = subprocess.run(
        (sys.executable, "mine.py"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {hiding} hides Solder's package {name}: rename it, or start Python in another folder"
    )


def test_a_script_that_has_the_name_itself(tmp_path: Path) -> None:
    (tmp_path / "boards.py").write_text("import deploy\n")
    done = subprocess.run(
        (sys.executable, "boards.py"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f"{tmp_path / 'boards.py'} hides Solder's package boards" in done.stderr.splitlines()[-1]


def test_the_command_says_so_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "codegen.py").touch()
    argv = (sys.executable, "-m", "deploy", "--version")
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    require_facts(done.stderr, f"{tmp_path / 'codegen.py'} Solder's Python hides package codegen")


def test_a_folder_of_data_hides_nothing(tmp_path: Path) -> None:
    """./boards with board files is no package: Solder's own goes before it."""
    (tmp_path / "boards").mkdir()
    argv = (sys.executable, "-m", "deploy", "--version")
    assert subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True).returncode == 0
