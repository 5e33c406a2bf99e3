"""Asking for help starts at once, because nothing heavy is loaded for it."""

from __future__ import annotations

import os
import subprocess
import sys

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
MOST_S = 0.3


@pytest.mark.parametrize("words", [["--help"], ["help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    argv = [sys.executable, "-c", LOADED.format(words=words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stderr.split())


def test_help_takes_less_processor_time_than_anyone_notices() -> None:
    before = os.times()
    subprocess.run([sys.executable, "-m", "deploy", "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    taken = after.children_user + after.children_system - before.children_user - before.children_system
    assert taken < MOST_S
