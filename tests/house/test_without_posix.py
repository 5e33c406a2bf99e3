"""Windows has no fcntl, termios, pty, select.poll, AF_UNIX or SIGKILL: no module needs them on import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# What others need of these modules they import first; then they are taken away from everybody.
TAKES_AWAY = """
import multiprocessing, select, signal, socket, subprocess, sys, tempfile
import elftools.elf.elffile, jinja2, jsonschema, numpy, onnx, rich.progress, serial.tools.list_ports, tflite

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
del select.poll, socket.AF_UNIX, signal.SIGKILL, signal.SIGHUP, signal.SIGALRM
"""
IMPORTS_ALL = """
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
"""
COLLECTS = """
import pytest, _pytest.tmpdir
words = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[1:]]
sys.exit(pytest.main(words))
"""
FAST = "not cc and not arm and not qemu and not slow"
RUNS = """
from deploy.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
# A program of its own and what it records with: they need the package unicorn, an extra.
ON_ITS_OWN = {"platforms.runners.unicorn_machine", "platforms.cycles.recorder"}


def without_posix(script: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", TAKES_AWAY + script, *words),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_every_module_can_be_imported(
    package_modules: tuple[Path, ...], repo_root: Path, tmp_path: Path
) -> None:
    places = (path.relative_to(repo_root).with_suffix("") for path in package_modules)
    names = {".".join(place.parts).removesuffix(".__init__") for place in places}
    names -= {name for name in names if name.endswith("__main__")} | ON_ITS_OWN
    done = without_posix(IMPORTS_ALL, *sorted(names), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("help", "E301"),
        ("doctor",),
        ("bug-report", "--structure", "MODEL", "--", "boards", "show", "host"),
        ("compile", "MODEL", "--board", "mps2-an386", "-o", "model.tar"),
        ("export", "MODEL", "--board", "mps2-an386", "--as", "cmsis-pack", "-o", "model.pack"),
        ("report", "MODEL", "--board", "mps2-an386", "-o", "report.html"),
        ("evidence", "MODEL", "--board", "mps2-an386", "-o", "evidence"),
    ],
    ids=lambda words: words[0],
)
def test_what_needs_no_line_runs(words: tuple[str, ...], repo_root: Path, tmp_path: Path) -> None:
    model = str(repo_root / "deploy/demo/digits.tflite")
    done = without_posix(RUNS, *(model if word == "MODEL" else word for word in words), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_fast_test_can_be_imported(repo_root: Path) -> None:
    done = without_posix(COLLECTS, "-m", FAST, folder=repo_root)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.slow
def test_a_line_to_a_program_is_refused_with_the_way_out(tmp_path: Path) -> None:
    done = without_posix(
        "from aot.errors import ToolError\n"
        "from platforms.transport.pipe import PipeTransport\n"
        "try:\n    PipeTransport((sys.executable, '-c', ''))\nexcept ToolError as error:\n    print(error)",
        folder=tmp_path,
    )
    assert done.stdout == (
        f"error: this system cannot talk to {Path(sys.executable).name} through a pipe or a socket\n"
        "  hint: connect a board by its serial port; or run this under Linux, macOS or WSL\n"
    )
