"""Exit codes: 0 fine, 1 the user's problem, 2 usage, 70 a bug, 130 after an interrupt at any moment."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from error_facts import require_facts
from foreground import start_in_foreground

import deploy
import deploy.__main__ as program
from codegen.version import VERSION
from deploy.compiler import accelerator_errors as foreign_code


def command_that(raises: BaseException) -> SimpleNamespace:
    def run(_arguments: object) -> None:
        raise raises

    return SimpleNamespace(EXAMPLE="deploy doctor", add_arguments=lambda _parser: None, run=run)


def test_a_command_that_works_gives_0(run_deploy):
    assert run_deploy("boards", "list").status == 0


def test_a_problem_of_the_users_gives_1_and_no_traceback(run_deploy):
    outcome = run_deploy("boards", "show", "nowhere")
    assert outcome.status == 1
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert '"nowhere"' in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "words", [["frobnicate"], ["doctor", "--no-such-option"], ["compile"], ["boards", "show"]]
)
def test_wrong_usage_gives_2(words, run_deploy):
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
def test_wrong_usage_is_reported_in_two_lines(words, told, run_deploy):
    outcome = run_deploy(*words)
    assert (outcome.status, outcome.code) == (2, "E101")
    assert outcome.err.startswith(f"error: {told}\n  hint: deploy {words[0]}")
    assert "--help" in outcome.err


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (
            ["inspect", "m.tflite", "--optimize", "sped"],
            '--optimize "sped" "speed"? speed, size, ram',
        ),
        (
            ["tune", "m.tflite", "--board", "host", "--candidates-in", "rom"],
            '--candidates-in "rom" "ram"? auto, ram, image',
        ),
        (
            ["boards", "lst"],
            '"lst" "list"? list, show, search, add',
        ),
    ],
)
def test_a_word_that_is_none_of_a_few_is_reported_with_all_of_them(words, facts, run_deploy):
    outcome = run_deploy(*words)
    assert outcome.status == 2
    require_facts(outcome.err, facts)


def test_a_value_may_look_like_an_option_behind_two_dashes(run_deploy):
    outcome = run_deploy("inspect", "--", "--model.tflite")
    assert outcome.status == 1
    assert "--model.tflite" in outcome.err


def test_a_bug_gives_70_with_traceback_and_version(run_deploy, monkeypatch):
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=RuntimeError("boom")))
    outcome = run_deploy("doctor")
    assert outcome.status == 70
    assert "RuntimeError: boom" in outcome.err
    assert f"This is a bug in Solder {VERSION}" in outcome.err
    assert "Please report it" in outcome.err


def test_an_extension_that_fails_is_named_with_its_package(run_deploy, monkeypatch):
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
def test_what_this_machine_lacks_is_not_a_bug(number, run_deploy, monkeypatch):
    lack = OSError(number, os.strerror(number), "/some/file")
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=lack))
    outcome = run_deploy("doctor")
    assert (outcome.status, outcome.err) == (1, f"error: {os.strerror(number)}\n  /some/file\n")


def test_ctrl_c_ends_without_a_traceback(run_deploy, monkeypatch):
    monkeypatch.setattr(program, "load_command", lambda _name: command_that(raises=KeyboardInterrupt()))
    outcome = run_deploy("doctor")
    assert (outcome.status, outcome.err) == (130, "interrupted\n")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_not_an_error_of_ours():
    """As in `deploy boards --json | true`."""
    argv = [sys.executable, "-c", "import sys, deploy.__main__ as m; sys.exit(m.main(['boards', '--json']))"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), complaint) == (141, b"")


ROOT = Path(deploy.__file__).parents[1]
PACKAGE = str(Path("deploy") / "__init__.py")
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
# Interrupts itself as it begins to load a module.
INTERRUPTED_AT = """
import os, signal, sys

NAME = sys.argv.pop(1)

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupter())
from deploy.__main__ import main
status = main()
assert all(not isinstance(each, Interrupter) for each in sys.meta_path), "not loaded"
sys.exit(status)
"""
MODULES = (
    *(
        "aot.errors",
        "codegen.version",
        "deploy.cli.console",
        "deploy.cli.docs_pages",
        "deploy.cli.terminal_width",
    ),
    *(
        "deploy.cli.commands.inspect",
        "deploy.cli.project_file",
        "codegen.options",
        "boards.files",
        "argparse",
    ),
    *("numpy", "tflite", "deploy.inspection.inspect_model", "aot.frontend.load"),
)


@pytest.mark.parametrize("module", MODULES)
def test_while_a_module_is_loaded(module):
    argv = (sys.executable, "-c", INTERRUPTED_AT, module, "inspect", str(DIGITS), "--board", "mps2-an386")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# As pip's script does it. Until its second line runs, an interrupt is Python's to report.
COMMAND = "import sys\nfrom deploy.__main__ import main\nsys.exit(main())"


@pytest.mark.parametrize("after_ms", [20, 50, 100, 200, 400])
def test_while_the_command_starts(after_ms):
    """No traceback goes through Solder. Python itself reports an interrupt of its own start."""
    argv = (sys.executable, "-c", COMMAND, "inspect", str(DIGITS), "--board", "mps2-an386")
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with start_in_foreground(argv, **pipes) as it:
        time.sleep(after_ms / 1000)
        it.send_signal(signal.SIGINT)
        _, said = it.communicate(timeout=60)
    ours = [line for line in said.splitlines() if f'File "{ROOT}' in line and PACKAGE not in line]
    assert ours == [], said
    is_finished = (it.returncode, said) == (0, "")  # on a fast computer
    is_reported = (it.returncode, said) == (130, "interrupted\n")
    assert is_finished or is_reported or it.returncode in (-signal.SIGINT, 1), said


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("after_s", [0.7, 1.5, 3.0, 4.5])
def test_while_firmware_is_built_and_run(after_s, tmp_path):
    import psutil  # of distributed

    words = ("run", str(DIGITS), "--board", "mps2-an386", "--fill", "random", "--repeat", "100000")
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": env}
    with start_in_foreground((sys.executable, "-m", "deploy", *words), **pipes) as it:
        time.sleep(after_s)
        children = psutil.Process(it.pid).children(recursive=True)
        it.send_signal(signal.SIGINT)
        _, said = it.communicate(timeout=30)
    assert (it.returncode, said.splitlines()[-1:]) == (130, ["interrupted"])
    assert psutil.wait_procs(children, timeout=5)[1] == []
