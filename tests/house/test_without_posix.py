"""Windows has no fcntl, termios, pty, select.poll, AF_UNIX or SIGKILL: no module needs them on import."""

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
subprocess.Popen.kill = subprocess.Popen.terminate  # so it is there
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
PASSES = COLLECTS.replace('"--collect-only", ', "")
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
def test_every_module_can_be_imported(package_modules, repo_root, tmp_path):
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
        ("evidence", "MODEL", "--board", "nucleo-l4r5zi", "-o", "evidence"),
    ],
    ids=lambda words: words[0],
)
def test_what_needs_no_line_runs(words, repo_root, tmp_path):
    model = str(repo_root / "deploy/demo/digits.tflite")
    done = without_posix(RUNS, *(model if word == "MODEL" else word for word in words), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_fast_test_can_be_imported(repo_root):
    done = without_posix(COLLECTS, "-m", FAST, folder=repo_root)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("runner", ["qemu", "unicorn"])
def test_a_model_runs_on_an_emulated_board(runner, repo_root, tmp_path, require_package):
    """Threads stand at the emulator's pipes; QEMU's debug port has a number."""
    require_package("unicorn")
    model = str(repo_root / "deploy/demo/digits.tflite")
    words = ("run", model, "--board", "mps2-an386", "--runner", runner, "--fill", "random", "--json")
    done = without_posix(RUNS, *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"largest"' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("room", ["rpc", "archive", "errors"])
def test_the_fast_tests_of_a_room_pass(room, repo_root):
    """Rooms with lines, files and paths; a test of something that only POSIX has is left out by name."""
    done = without_posix(PASSES, f"tests/{room}", "-m", FAST, folder=repo_root)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
