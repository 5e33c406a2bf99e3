"""Files that Solder finds by itself run nothing and write nothing, and those of other users are refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from aot.errors import MachineError
from aot.trust import module_argv, require_own, user_folder
from deploy.cli.project_file import find_project_file
from deploy.devices.build_cache import cache_folder
from platforms.board_files import load_board
from platforms.runners.runner import run_all

DEMO = Path(deploy.__file__).parent / "demo"
HOST = DEMO.parents[1] / "boards" / "host.toml"
NOBODY = 65534
RUNS = "from pathlib import Path\nPath({!r}).write_text('ran')\n"
SCHEDULE = """
from deploy import lang


@lang.layer_schedule("dense")
def packed(s, knobs):
    s.pack("w", "r", "t", "k", "o")
"""


@pytest.fixture
def give_away(monkeypatch):
    """Makes a file or link another user's: root can, any other user becomes someone else."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, -1, follow_symlinks=False)
        else:
            owner = path.lstat().st_uid
            monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    monkeypatch.delenv("SUDO_UID", raising=False)
    return give


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that the schedules of the project here write when they are run."""
    mark = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(RUNS.format(str(mark)) + SCHEDULE)
    (tmp_path / "solder.toml").write_text('model = "digits.tflite"\nschedules = "mine.py"\n')
    for name in ("digits", "other"):
        shutil.copy(DEMO / "digits.tflite", tmp_path / f"{name}.tflite")
    (tmp_path / "records.jsonl").write_text("")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return mark


LOOKS = (
    "compile ../other.tflite --board host -o other.tar",
    "compile --help",
    "inspect -h",
    "ops",
    "boards list",
    "docs",
    "doctor",
    "cache",
    "completion bash",
    "records --help",
    "help compile",
    "--version",
)


@pytest.mark.parametrize("line", LOOKS)
def test_a_command_that_does_not_compile_the_projects_model_runs_no_schedules(line, mark, run_deploy):
    run_deploy(*line.split())
    assert not mark.exists()


def test_completing_a_line_runs_no_schedules(mark):
    line = "deploy compile --o"
    asks = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "IFS": "\n"}
    subprocess.run((*module_argv("deploy"),), env={**os.environ, **asks}, stderr=-1, stdout=-1, check=False)
    assert not mark.exists()


def test_the_schedules_are_for_the_projects_model(mark, run_deploy):
    assert run_deploy("compile", "--board", "host", "-o", "digits.tar").status == 0
    assert mark.exists()


@pytest.mark.usefixtures("mark")
def test_a_project_file_of_another_user_is_refused(tmp_path, give_away, run_deploy):
    path = tmp_path / "solder.toml"
    owner = NOBODY if os.geteuid() == 0 else path.stat().st_uid
    give_away(path)
    outcome = run_deploy("inspect")
    assert outcome.status == 1
    require_facts(
        outcome.err,
        f"{owner} {os.geteuid()} Solder project file belongs {path} {os.geteuid()} {path} trust chown folder",
    )
    assert run_deploy("boards", "list").status == 0


def test_another_users_link_to_a_file_of_ours_is_refused(tmp_path, give_away):
    (tmp_path / "ours.toml").write_text('board = "host"\n')
    (tmp_path / "link.toml").symlink_to(tmp_path / "ours.toml")
    require_own(tmp_path / "link.toml", "the file")
    give_away(tmp_path / "link.toml")
    with pytest.raises(MachineError, match="the file belongs to user"):
        require_own(tmp_path / "link.toml", "the file")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root is called by sudo")
def test_under_sudo_the_callers_files_are_trusted(tmp_path, monkeypatch):
    os.chown(tmp_path, NOBODY, -1)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    require_own(tmp_path, "the folder")


@pytest.mark.parametrize("edge", ["repository", "worktree", "home"])
def test_the_search_ends_with_the_repository_and_with_the_home_folder(edge, tmp_path, monkeypatch):
    inner = tmp_path / "project" / "below"
    inner.mkdir(parents=True)
    (tmp_path / "solder.toml").write_text('board = "host"\n')
    monkeypatch.chdir(inner)
    found = find_project_file()
    assert found is not None
    assert found.path == tmp_path / "solder.toml"
    if edge == "repository":
        (tmp_path / "project" / ".git").mkdir()
    elif edge == "worktree":
        (tmp_path / "project" / ".git").write_text("gitdir: elsewhere\n")
    else:
        monkeypatch.setenv("HOME", str(tmp_path / "project"))
    assert find_project_file() is None
    (tmp_path / "project" / "solder.toml").write_text('board = "mps2-an386"\n')
    found = find_project_file()
    assert found is not None
    assert found.path == tmp_path / "project" / "solder.toml"


def test_a_project_file_names_no_file_to_write(mark, tmp_path, run_deploy):
    (tmp_path / "solder.toml").write_text('model = "digits.tflite"\ntrace = "mine.py"\n')
    outcome = run_deploy("inspect")
    assert outcome.status == 1
    require_facts(outcome.err, f"trace output file {tmp_path / 'solder.toml'} --trace FILE")


def test_a_board_of_another_user_in_this_folder_is_refused(tmp_path, monkeypatch, give_away):
    (tmp_path / "boards").mkdir()
    shutil.copy(HOST, tmp_path / "boards" / "host.toml")
    monkeypatch.chdir(tmp_path)
    assert load_board("host").name == "host"
    give_away(tmp_path / "boards" / "host.toml")
    with pytest.raises(MachineError, match="the board's file belongs to user"):
        load_board("host")


def test_built_firmware_in_another_users_folder_is_not_run(tmp_path, monkeypatch, give_away):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "solder").mkdir()
    assert cache_folder() == tmp_path / "solder"
    give_away(tmp_path / "solder")
    with pytest.raises(MachineError, match="the folder for built firmware belongs to user"):
        cache_folder()


def test_folders_of_settings_are_whole_paths(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert user_folder("XDG_CACHE_HOME", ".cache") == Path.home() / ".cache"


def test_a_python_that_is_started_loads_no_module_of_this_folder(tmp_path):
    (tmp_path / "ziglang.py").write_text("print('hidden')")
    done = subprocess.run(module_argv("ziglang"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "hidden" not in done.stdout


def test_no_other_python_is_started(repo_root):
    assert sources_with(repo_root, 'sys.executable, "-m"') == []


def test_programs_that_write_firmware_start_in_its_folder(tmp_path, monkeypatch):
    """pyOCD runs pyocd_user.py, and OpenOCD scripts, of the folder in which they are started."""
    (tmp_path / "strange").mkdir()
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path / "strange")
    write = "import os; open('here', 'w').close()"
    run_all([(sys.executable, "-c", write)], tmp_path / "build")
    assert (tmp_path / "build" / "here").exists()
    assert not (tmp_path / "strange" / "here").exists()


@pytest.mark.slow
def test_the_command_loads_no_extension_of_this_folder(tmp_path):
    (tmp_path / "evil.py").write_text(RUNS.format(str(tmp_path / "ran")))
    info = tmp_path / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[solder.ops]\nevil = evil\n")
    program = Path(sys.executable).with_name("deploy")
    subprocess.run((program, "ops"), cwd=tmp_path, capture_output=True, check=True)
    assert not (tmp_path / "ran").exists()


def test_arrays_and_labels_are_read_without_pickles(tmp_path, run_deploy):
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path(tmp_path / "ran").write_text, ("ran",)

    np.savez(tmp_path / "in.npz", input_0=np.array([Evil()], object))
    outcome = run_deploy("run", DEMO / "digits.tflite", "--board", "host", "--inputs", tmp_path / "in.npz")
    assert outcome.status == 1
    assert not (tmp_path / "ran").exists()


def sources_with(repo_root: Path, word: str) -> list[str]:
    packages = ("aot", "codegen", "extensions", "artifact", "boards", "platforms", "deploy")
    modules = [path for package in packages for path in (repo_root / package).rglob("*.py")]
    found = (path for path in modules if word in path.read_text(encoding="utf-8"))
    return sorted(path.relative_to(repo_root).as_posix() for path in found)


def test_pickles_are_read_from_vela_only(repo_root):
    """Vela's process wrote that file a moment ago, in a folder that only this user can enter."""
    assert sources_with(repo_root, "allow_pickle=True") == ["extensions/ethos_u/program.py"]
    assert [sources_with(repo_root, f"import {name}") for name in ("pickle", "marshal", "shelve")] == [
        [],
        [],
        [],
    ]


def test_templates_come_from_the_installed_packages(repo_root):
    """Jinja gets texts that importlib.resources reads, and never a folder to search."""
    makers = sources_with(repo_root, "jinja2.Environment(")
    assert makers
    for loader in ("FileSystemLoader", "ChoiceLoader"):
        assert sources_with(repo_root, loader) == []
