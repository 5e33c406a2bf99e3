"""Projects whose server asks for a key, through the commands, on this computer and on emulated boards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """The key, and another."""
    paths = tmp_path / "line.key", tmp_path / "other.key"
    for number, path in enumerate(paths):
        path.write_text(bytes([number] * 32).hex())
    return paths


@pytest.mark.cc
@pytest.mark.parametrize(
    "board",
    [
        "host",
        pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]),
        pytest.param("qemu-riscv32", marks=[pytest.mark.qemu, pytest.mark.slow]),
    ],
)
def test_a_locked_project_answers_who_has_its_key(
    board: str, model: Path, keys: tuple[Path, Path], tmp_path: Path, run_deploy: Run
) -> None:
    archive, project, (key, other) = tmp_path / "m.tar", tmp_path / "locked", keys
    assert run_deploy("compile", model, "--board", board, "-o", archive).status == 0
    assert run_deploy("new", archive, project, "--board", board, "--line-key", key).status == 0
    assert (project / ".gitignore").read_text() == "build/\nsrc/line_key.c\n"
    words = ("run", project, "--fill", "zeros")
    opened = run_deploy(*words, "--line-key", key)
    assert opened.status == 0, opened.err
    refused = run_deploy(*words)
    assert refused.code == "E713"
    assert "the line is locked, and no key was given" in refused.err
    guessed = run_deploy(*words, "--line-key", other)
    assert guessed.code == "E707"
    assert "the firmware was made with another line key" in guessed.err


def test_a_program_without_the_server_has_no_line_to_lock(
    archive: Path, keys: tuple[Path, Path], tmp_path: Path, run_deploy: Run
) -> None:
    words = ("new", archive, tmp_path / "p", "--board", "host", "--line-key", keys[0])
    outcome = run_deploy(*words, "--app", "standalone")
    assert "a line key need the server, which the app standalone leaves out" in outcome.err


def test_arduinos_server_has_no_lock(
    model: Path, keys: tuple[Path, Path], tmp_path: Path, run_deploy: Run
) -> None:
    archive = tmp_path / "m.tar"
    assert run_deploy("compile", model, "--board", "arduino-mega", "-o", archive).status == 0
    words = ("new", archive, tmp_path / "p", "--board", "arduino-mega", "--line-key", keys[0])
    assert "the line cannot be locked on the platform arduino" in run_deploy(*words).err


def test_zephyrs_server_has_the_lock(
    model: Path, keys: tuple[Path, Path], tmp_path: Path, run_deploy: Run
) -> None:
    archive, project = tmp_path / "m.tar", tmp_path / "p"
    assert run_deploy("compile", model, "--board", "nrf52840dk", "-o", archive).status == 0
    words = ("new", archive, project, "--board", "nrf52840dk", "--platform", "zephyr")
    assert run_deploy(*words, "--line-key", keys[0]).status == 0
    assert "0x00000000u" in (project / "src/line_key.c").read_text()
    assert "SOLDER_LOCK " in (project / "CMakeLists.txt").read_text()
    assert run_deploy(*words[:2], tmp_path / "open", *words[3:]).status == 0
    assert "SOLDER_LOCK" not in (tmp_path / "open" / "CMakeLists.txt").read_text()
