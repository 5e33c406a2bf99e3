"""SIGINT at any moment ends a command with 130, without a traceback and without a process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from foreground import start_in_foreground

import deploy

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
def test_while_a_module_is_loaded(module: str) -> None:
    argv = (sys.executable, "-c", INTERRUPTED_AT, module, "inspect", str(DIGITS), "--board", "mps2-an386")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# As pip's script does it. Until its second line runs, an interrupt is Python's to report.
COMMAND = "import sys\nfrom deploy.__main__ import main\nsys.exit(main())"


@pytest.mark.parametrize("after_ms", [20, 50, 100, 200, 400])
def test_while_the_command_starts(after_ms: int) -> None:
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
def test_while_firmware_is_built_and_run(
    after_s: float, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
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
