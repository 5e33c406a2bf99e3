"""`make newcomer`: newcomers take their first hours in fresh environments that have nothing but the wheel.

An environment is made for each Python on this machine that Solder is for, from the oldest to the newest.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from journeys import JOURNEYS, Environment

ROOT = Path(__file__).parents[2]
PYTHONS = [f"python3.{minor}" for minor in range(10, 15)]
_HIDDEN = ("PYTHONPATH", "VIRTUAL_ENV")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        places = {python: folder / Path(python).name for python in _pythons()}
        faults = [fault for python, place in places.items() for fault in _faults(python, wheel, place)]
    return 1 if faults else 0


def _pythons() -> list[str]:
    """Those that can be found; else the one that runs this."""
    found = [path for name in PYTHONS if (path := shutil.which(name)) and _has_venv(path)]
    return found or [sys.executable]


def _has_venv(python: str) -> bool:
    argv = (python, "-c", "import ensurepip, venv")
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _faults(python: str, wheel: Path, folder: Path) -> Iterator[str]:
    environment = _environment(python, wheel, folder)
    for who, steps in JOURNEYS.items():
        for number, step in enumerate(steps, 1):
            fault = environment.fault_of(step)
            said = "ok" if not fault else "FAULT"
            sys.stdout.write(f"{Path(python).name}, {who}, step {number} of {len(steps)}: {said}\n{fault}")
            sys.stdout.flush()
            if fault:
                yield fault


def _environment(python: str, wheel: Path, folder: Path) -> Environment:
    """A virtual environment with nothing but the wheel and what it asks for."""
    place, hours = folder / "venv", folder / "hours"
    hours.mkdir(parents=True)
    _run(python, "-m", "venv", place)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    _run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    variables = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    called: dict[str, Sequence[str]] = {name: [str(programs / name)] for name in ("python", "deploy")}
    return Environment(hours, called, variables | own)


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


if __name__ == "__main__":
    sys.exit(main())
