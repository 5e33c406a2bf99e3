"""A test that hangs fails by its name after the time limit, wherever and however it hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processor_time import Mark, run_limited

LIMIT_S, BY_CLOCK_S = 0.4, 1.6  # of processor time, by the clock
LIMIT = ("-o", f"time_limit_s={LIMIT_S}", "-o", f"clock_limit_s={BY_CLOCK_S}")
MOST_MINUTES = 10  # that anybody waits for the name of a test that hangs
ALONE, IN_WORKERS = (), ("-n", "2")
HANGING = """
import subprocess
import sys
import time

import pytest


def test_at_work_in_python():
    while True:
        pass


def test_at_work_in_a_process_that_it_waits_for():
    at_work = "import time\\nwhile time.process_time() < 20: pass"
    subprocess.run([sys.executable, "-c", at_work])


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
    """What pytest prints of these tests, each of which has a time limit."""
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


def test_a_test_that_waits_is_ended_within_ten_minutes(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("clock_limit_s")) <= MOST_MINUTES * 60


@pytest.mark.slow
@pytest.mark.parametrize("words", [ALONE, IN_WORKERS])
def test_a_test_that_hangs_fails_by_its_name(words: tuple[str, ...], tmp_path: Path) -> None:
    said = said_of(HANGING, words, tmp_path)
    names = re.findall(r"^def (test_\w+)", HANGING, re.MULTILINE)
    for name in (each for each in names if each.startswith("test_at_work_")):  # a busy machine shares little
        over = rf"took ({LIMIT_S} s of processor time|longer than {BY_CLOCK_S} s)"
        assert re.search(rf"the call of test_it.py::{name} {over}", said)
    for name in (each for each in names if each.startswith(("test_in_", "test_where_"))):
        assert f"the call of test_it.py::{name} took longer than {BY_CLOCK_S} s" in said
    assert f"the setup of test_it.py::test_whose_setup_hangs took longer than {BY_CLOCK_S} s" in said
    assert f"the teardown of test_it.py::test_whose_teardown_hangs took longer than {BY_CLOCK_S} s" in said
    assert "6 failed, 2 passed, 2 errors" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "names_it"),
    [(ALONE, "in test_that_hangs\n"), (IN_WORKERS, "crashed while running 'test_it.py::test_that_hangs'")],
)
def test_where_no_signal_is_heard_the_process_ends_and_names_the_test(
    words: tuple[str, ...], names_it: str, tmp_path: Path
) -> None:
    assert names_it in said_of(DEAF, words, tmp_path)


AT_WORK = "import os, time\nwhile time.process_time() < 2: pass\nos.close(1)\ntime.sleep(60)"


@pytest.mark.slow
def test_processor_time_is_counted_and_time_that_others_take_is_not() -> None:
    waited = Mark()
    time.sleep(0.5)
    assert waited.used_s() < 0.4
    at_work = Mark()
    with subprocess.Popen([sys.executable, "-c", AT_WORK], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read()
        assert 1.9 < at_work.used_s() < 4  # of a child that is told in hundredths of a second
        child.kill()


@pytest.mark.slow
def test_a_program_that_works_on_is_ended_and_one_that_waits_is_not() -> None:
    assert run_limited([sys.executable, "-c", AT_WORK], 1).returncode == -signal.SIGXCPU
    assert run_limited([sys.executable, "-c", "import time; time.sleep(1.5)"], 1).returncode == 0
