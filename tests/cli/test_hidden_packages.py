"""Files and packages of others with the names of Solder's packages are reported before they do harm."""

import json
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from error_facts import require_facts

from deploy.host_tools import tool_inventory as machine

NAMES = ("aot", "artifact", "boards", "codegen", "platforms", "project_templates")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_a_file_beside_a_script_is_named(name, form, tmp_path):
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


def test_a_script_that_has_the_name_itself(tmp_path):
    (tmp_path / "boards.py").write_text("import deploy\n")
    done = subprocess.run(
        (sys.executable, "boards.py"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f"{tmp_path / 'boards.py'} hides Solder's package boards" in done.stderr.splitlines()[-1]


def test_the_command_says_so_in_a_line(tmp_path):
    (tmp_path / "codegen.py").touch()
    argv = (sys.executable, "-m", "deploy", "--version")
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    require_facts(done.stderr, f"{tmp_path / 'codegen.py'} Solder's Python hides package codegen")


def test_a_folder_of_data_hides_nothing(tmp_path):
    """./boards with board files is no package: Solder's own goes before it."""
    (tmp_path / "boards").mkdir()
    argv = (sys.executable, "-m", "deploy", "--version")
    assert subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True).returncode == 0


def test_there_is_none_in_the_tree(repo_root):
    assert machine.clashes(repo_root) == ()


@pytest.mark.parametrize("name", ["deploy.py", "codegen/__init__.py"])
def test_a_file_beside_a_notebook_is_reported(name, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert machine.clashes(tmp_path) == (
        f"{tmp_path.resolve() / name} hides ours from Python programs started in this folder",
    )


@pytest.mark.slow
def test_the_packages_of_these_names_on_pypi_are_reported(monkeypatch, run_deploy, tmp_path):
    def installed(name: str) -> list[Distribution]:
        path = tmp_path / f"{name}-1.0.dist-info"
        return [Distribution.at(path)] if path.is_dir() else []

    for name, file in (
        ("deploy", "deploy/__init__.py"),
        ("solder", "solder/__init__.py"),
        ("boards", "a.py"),
    ):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "RECORD").write_text(f"{file},,\n")
    monkeypatch.setattr(machine, "_distributions", installed)
    what = 'pip has installed the package "NAME", which overwrites ours'
    told = f"{what}: pip uninstall NAME, then solder-mcu again"
    assert "\nname clash: " + told.replace("NAME", "deploy") in run_deploy("doctor").out
    facts = json.loads(run_deploy("doctor", "--json").out)
    assert facts["clashes"] == [told.replace("NAME", name) for name in ("deploy", "solder")]


def test_a_package_from_elsewhere_is_reported(monkeypatch, repo_root):
    ours = machine._folder_of
    other = Path("/elsewhere")
    monkeypatch.setattr(machine, "_folder_of", lambda name: other if name == "boards" else ours(name))
    assert machine.clashes(repo_root) == (f'"boards" comes from {other}',)
