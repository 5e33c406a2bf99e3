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
from deploy.compiler import accelerator_errors as foreign_code

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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["compile", "m.tflite", "--bord", "host", "-o", "a.tar"],
            'option "--bord" is not known - did you mean "--board"?',
        ),
        (["boards", "list", "--cor", "m4"], 'option "--cor" is not known - did you mean "--core"?'),
        (["doctor", "--frob=1"], 'option "--frob" is not known'),
        (["doctor", "-x"], 'option "-x" is not known'),
        (["inspect", "a.tflite", "b.tflite"], 'unexpected argument "b.tflite"'),
        (["compile", "m.tflite", "-o", "a.tar"], "missing options: --board or --target"),
        (["compile", "m.tflite"], "missing options: --board or --target, -o/--output"),
        (["inspect", "m.tflite", "--ram"], "--ram needs a value"),
        (["inspect", "m.tflite", "--ram", "64Q"], '--ram "64Q" is not a size such as 65536, 64KB or 1MB'),
        (["inspect", "m.tflite", "--json=3"], "--json takes no value, not '3'"),
        (
            ["tune", "m.tflite", "--board", "host", "--trials", "0"],
            "--trials must be a whole number of 1 or more, not 0",
        ),
    ],
)
def test_wrong_usage_is_reported_in_two_lines(words: list[str], told: str, run_deploy: Run) -> None:
    outcome = run_deploy(*words)
    assert (outcome.status, outcome.code) == (2, "E101")
    assert outcome.err.startswith(f"error: {told}\n  hint: deploy {words[0]}")
    assert "--help" in outcome.err


@pytest.mark.parametrize(
    ("words", "told", "hint"),
    [
        (
            ["inspect", "m.tflite", "--optimize", "sped"],
            '--optimize "sped" is not known - did you mean "speed"?',
            "known: speed, size, ram",
        ),
        (
            ["tune", "m.tflite", "--board", "host", "--candidates-in", "rom"],
            '--candidates-in "rom" is not known - did you mean "ram"?',
            "known: auto, ram, image",
        ),
        (
            ["boards", "lst"],
            '"lst" is not known - did you mean "list"?',
            "known: list, show, search, add",
        ),
    ],
)
def test_a_word_that_is_none_of_a_few_is_reported_with_all_of_them(
    words: list[str], told: str, hint: str, run_deploy: Run
) -> None:
    outcome = run_deploy(*words)
    assert (outcome.status, outcome.err) == (2, f"error: {told}\n  hint: {hint}\n")


def test_a_value_may_look_like_an_option_behind_two_dashes(run_deploy: Run) -> None:
    outcome = run_deploy("inspect", "--", "--model.tflite")
    assert outcome.status == 1
    assert "--model.tflite" in outcome.err


def test_a_bug_gives_70_with_traceback_and_version(run_deploy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=RuntimeError("boom")))
    outcome = run_deploy("doctor")
    assert outcome.status == 70
    assert "RuntimeError: boom" in outcome.err
    assert f"This is a bug in Solder {VERSION}" in outcome.err
    assert "Please report it" in outcome.err


def test_an_extension_that_fails_is_named_with_its_package(
    run_deploy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs: dict[str, Any] = {"__name__": "medians.lower"}
    exec("def lower(node):\n    return node.no_such_thing", theirs)
    origins = {"medians.lower": "medians 0.3"}
    monkeypatch.setattr(foreign_code, "origin_of", lambda name: origins.get(name, ""))
    command = SimpleNamespace(
        EXAMPLE="", add_arguments=lambda _parser: None, run=lambda _: theirs["lower"](3)
    )
    monkeypatch.setattr(program, "load_command", lambda _name: command)
    outcome = run_deploy("doctor")
    assert outcome.status == 1
    assert "bug in Solder" not in outcome.err
    assert outcome.err.splitlines()[-3:] == [
        "error: an extension failed: AttributeError: 'int' object has no attribute 'no_such_thing'",
        "  medians 0.3: <string>, line 2, in lower",
        "  hint: report it to the authors of that package, with the lines above, or uninstall it",
    ]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EMFILE])
def test_what_this_machine_lacks_is_not_a_bug(
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


@pytest.mark.slow
def test_a_reader_that_goes_away_is_not_an_error_of_ours() -> None:
    """As in `deploy boards --json | true`."""
    argv = [sys.executable, "-c", "import sys, deploy.__main__ as m; sys.exit(m.main(['boards', '--json']))"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), complaint) == (141, b"")
