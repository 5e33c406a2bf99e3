"""What a worker leaves out of its reports, nobody misses: failures wherever they are, skips and counts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from processor_time import run_limited

TESTS = """
import pytest


@pytest.fixture
def broken():
    raise OSError("no setup")


@pytest.fixture
def left_behind():
    yield
    raise OSError("no clean-up")


def test_that_passes():
    print("nobody reads this")


def test_that_fails():
    print("somebody reads this")
    assert False


def test_that_is_skipped():
    pytest.skip("not here")


def test_whose_setup_fails(broken):
    pass


def test_whose_clean_up_fails(left_behind):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_workers_say_what_a_process_alone_says(workers: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["brief_reports"]\n', encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    programs = Path(__file__).resolve().parent.parent / "programs"
    given = "-q", "-ra", "-p", "no:cacheprovider", "-o", f"pythonpath={programs}", f"--rootdir={tmp_path}"
    done = run_limited([sys.executable, "-m", "pytest", *given, *workers, str(tmp_path)], 60)
    summary = done.stdout.partition("short test summary info")[2]
    lines = (line.partition(" - ")[0] for line in summary.splitlines() if line[:1].isupper())
    said = sorted(re.sub(r"[^ ]*/|:\d+(?=: )", "", line) for line in lines)
    assert said == [
        "ERROR test_it.py::test_whose_clean_up_fails",
        "ERROR test_it.py::test_whose_setup_fails",
        "FAILED test_it.py::test_that_fails",
        "SKIPPED [1] test_it.py: not here",
    ]
    assert re.search(r"^1 failed, 2 passed, 1 skipped, 2 errors in ", done.stdout, re.MULTILINE)
    assert "somebody reads this" in done.stdout
    assert "nobody reads this" not in done.stdout
