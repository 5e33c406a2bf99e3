"""A test that hangs fails by its name after the time limit, wherever and however it hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = ("-o", "time_limit_s=0.5")
ALONE, IN_WORKERS = (), ("-n", "2")
HANGING = """
import subprocess
import time

import pytest


def test_in_python():
    while True:
        pass


def test_in_a_call_of_the_system():
    time.sleep(1000)


def test_in_a_process_that_it_waits_for():
    subprocess.run(["sleep", "1000"])


def test_in_its_clean_up_too():
    with subprocess.Popen(["sleep", "20"]):
        time.sleep(1000)


def test_where_all_failures_are_caught():
    while True:
        try:
            time.sleep(1000)
        except Exception:
            pass


@pytest.fixture
def made():
    time.sleep(1000)


def test_whose_setup_hangs(made):
    pass


@pytest.fixture
def removed():
    yield
    time.sleep(1000)


def test_whose_teardown_hangs(removed):
    pass


def test_that_passes():
    pass
"""
# As code of this process that is not Python's: no signal reaches it.
DEAF = """
import signal
import time


def test_that_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
"""


def ignore_ctrl_c() -> None:
    """As in the background of a shell without jobs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def said_of(tests: str, words: tuple[str, ...], folder: Path) -> str:
    """What pytest prints of these tests, each of which may take half a second."""
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-p", "time_limit", "-p", "no:cacheprovider", "-q", *LIMIT]
    done = subprocess.run(
        [*argv, "-c", os.devnull, "--rootdir", str(folder), *words, "test_it.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent / "programs")},
        preexec_fn=ignore_ctrl_c,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [ALONE, IN_WORKERS])
def test_a_test_that_hangs_fails_by_its_name(words: tuple[str, ...], tmp_path: Path) -> None:
    said = said_of(HANGING, words, tmp_path)
    in_calls = [line[4:].split("(")[0] for line in HANGING.splitlines() if line.startswith("def test_in_")]
    for name in (*in_calls, "test_where_all_failures_are_caught"):
        assert f"the call of test_it.py::{name} took longer than 0.5 s" in said
    assert "the setup of test_it.py::test_whose_setup_hangs took longer than 0.5 s" in said
    assert "the teardown of test_it.py::test_whose_teardown_hangs took longer than 0.5 s" in said
    assert "5 failed, 2 passed, 2 errors" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "names_it"),
    [(ALONE, "in test_that_hangs\n"), (IN_WORKERS, "crashed while running 'test_it.py::test_that_hangs'")],
)
def test_where_no_signal_is_heard_the_process_ends_and_names_the_test(
    words: tuple[str, ...], names_it: str, tmp_path: Path
) -> None:
    assert names_it in said_of(DEAF, words, tmp_path)
