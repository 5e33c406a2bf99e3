"""Asking for help starts at once, and looking soon, because nothing heavy is loaded for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = "import sys; from deploy.__main__ import main; main({words}); print(*sys.modules, file=sys.stderr)"
HEAVY = {
    "numpy",
    "rich",
    "jinja2",
    "tflite",
    "jsonschema",
    "serial",
    "elftools",
    "onnx",
    "importlib.metadata",
}
LINES_AND_BUILDS = {"platforms.rpc.exchange", "platforms.rpc.messages"}
# Packages outside the tree are looked up, and a board's platform says which keys the board's file may have.
ASKED_ABOUT_A_BOARD = {"numpy", "tflite", "importlib.metadata"}
MOST_S = 0.3


def loaded_by(words: list[str]) -> set[str]:
    """The modules that a command line loads."""
    argv = [sys.executable, "-c", LOADED.format(words=words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    assert not HEAVY & loaded_by(words)


@pytest.mark.slow
def test_inspect_loads_nothing_that_only_lines_and_builds_need(model: Path) -> None:
    loaded = loaded_by(["inspect", str(model), "--board", "mps2-an386"])
    assert not (HEAVY - ASKED_ABOUT_A_BOARD | LINES_AND_BUILDS) & loaded


def test_help_takes_less_processor_time_than_anyone_notices() -> None:
    before = os.times()
    subprocess.run([sys.executable, "-m", "deploy", "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    taken = after.children_user + after.children_system - before.children_user - before.children_system
    assert taken < MOST_S
