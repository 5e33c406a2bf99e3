"""0 fine, 1 the user's problem, 2 usage, 70 ours; and what happens when somebody else ends it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import deploy.__main__ as program
from codegen.version import VERSION

Run = Callable[..., Any]


def command_that(raises: BaseException) -> SimpleNamespace:
    def run(_arguments: object) -> None:
        raise raises

    return SimpleNamespace(EXAMPLE="deploy doctor", add_arguments=lambda _parser: None, run=run)


def test_a_command_that_works_gives_0(run_deploy: Run) -> None:
    assert run_deploy("boards", "list").status == 0


def test_a_problem_of_the_users_gives_1_and_no_traceback(run_deploy: Run) -> None:
    outcome = run_deploy("boards", "show", "nowhere")
    assert outcome.status == 1
    assert outcome.out == ""
    assert outcome.err.startswith('error: board "nowhere" not found')
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "words", [["frobnicate"], ["doctor", "--no-such-option"], ["compile"], ["boards", "show"]]
)
def test_wrong_usage_gives_2(words: list[str], run_deploy: Run) -> None:
    outcome = run_deploy(*words)
    assert outcome.status == 2
    assert outcome.out == ""


def test_a_bug_gives_70_with_traceback_and_version(run_deploy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=RuntimeError("boom")))
    outcome = run_deploy("doctor")
    assert outcome.status == 70
    assert "RuntimeError: boom" in outcome.err
    assert f"This is a bug in Solder {VERSION}" in outcome.err
    assert "Please report it" in outcome.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EMFILE])
def test_what_this_machine_lacks_is_no_bug(
    number: int, run_deploy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack = OSError(number, os.strerror(number), "/some/file")
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=lack))
    outcome = run_deploy("doctor")
    assert (outcome.status, outcome.err) == (1, f"error: {os.strerror(number)}\n  /some/file\n")


def test_ctrl_c_ends_without_a_traceback(run_deploy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=KeyboardInterrupt()))
    outcome = run_deploy("doctor")
    assert (outcome.status, outcome.err) == (130, "interrupted\n")


def test_a_reader_that_goes_away_is_no_error_of_ours() -> None:
    """As in `deploy boards --json | true`."""
    argv = [sys.executable, "-c", "import sys, deploy.__main__ as m; sys.exit(m.main(['boards', '--json']))"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), complaint) == (141, b"")
