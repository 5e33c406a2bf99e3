"""Counts which branches of the device runtime its tests take, by gcc's gcov over every build that they make.

    python tests/runtime_coverage/runtime_coverage.py [--store]

The rooms in ROOMS run with a gcc that adds counters to whatever holds the runtime. --store writes the counts
to where `deploy evidence` reads them. Exits with 1 where a test fails, or a line with a branch left has no
reason.
"""

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from codegen.version import VERSION  # noqa: E402  # the tree's own, wherever this is started
from deploy.proving.coverage import STORED, reason_in_runtime, sha256_of_runtime  # noqa: E402

RUNTIME = ROOT / "project_templates" / "common"
SHIM = Path(__file__).with_name("counted_gcc.py")
ROOMS = (
    "tests/rpc",
    "tests/platforms/test_cartridges.py",
    "tests/platforms/test_tables.py",
    "tests/platforms/test_host_lines.py",
)
LEFT_OUT = "tests/platforms/test_host_lines.py::test_make_with_sanitizers_builds_firmware_that_serves"
NOT_COUNTED = "not arm and not qemu"  # they build for other machines


@dataclass
class Line:
    """A line with branches, over all builds; one with fewer of them, for other options, tells less."""

    taken: list[bool] = field(default_factory=list)

    def add(self, counts: Iterable[int]) -> None:
        found = [count > 0 for count in counts]
        if len(found) > len(self.taken):
            self.taken = found
        elif len(found) == len(self.taken):
            self.taken = [a or b for a, b in zip(self.taken, found, strict=True)]


@dataclass
class File:
    """The lines of one file that hold code, whether any build ran them, and their branches."""

    run: dict[int, bool] = field(default_factory=dict)
    branches: dict[int, Line] = field(default_factory=dict)


def run_tests(folder: Path) -> int:
    """Runs the rooms with counters; the counts lie in the folder. Answers with pytest's exit status."""
    found = (shutil.which("gcc", path=each) for each in os.environ["PATH"].split(os.pathsep))
    # ccache looks for the compiler in PATH, and would find the stand-in again.
    gcc = next((each for each in found if each and Path(each).resolve().name != "ccache"), None)
    if gcc is None:
        sys.exit("error: gcc is not installed")
    programs, counts = folder / "programs", folder / "counts"
    programs.mkdir()
    counts.mkdir()
    shim = programs / "gcc"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SHIM}" "{gcc}" "{counts}" "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    options = ("-q", "-m", NOT_COUNTED, f"--basetemp={folder / 'tests'}", "--deselect", LEFT_OUT)
    words = (sys.executable, "-m", "pytest", *options, *ROOMS)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode


def counted(folder: Path) -> dict[str, File]:
    """The files of the runtime by name, over all builds."""
    files = {path.name: File() for path in sorted(RUNTIME.glob("*.[ch]"))}
    texts = {name: (RUNTIME / name).read_bytes() for name in files}
    for notes in sorted(folder.glob("counts/*/*.gcno")):
        for said in _reports(notes):
            name = Path(said["file"]).name
            source = notes.parent / said["file"]
            if name in files and source.is_file() and source.read_bytes() == texts[name]:
                _add(files[name], said["lines"])
    return {name: file for name, file in files.items() if file.run}


def _reports(notes: Path) -> Iterator[dict[str, Any]]:
    argv = ("gcov", "--json-format", "--stdout", "-b", notes.name)
    done = subprocess.run(argv, cwd=notes.parent, capture_output=True, check=False)
    if done.returncode != 0:
        # Tests kill programs; one that was writing its counts has left half of them, which count for nothing.
        notes.with_suffix(".gcda").unlink(missing_ok=True)
        done = subprocess.run(argv, cwd=notes.parent, capture_output=True, check=True)
    for line in done.stdout.splitlines():
        yield from json.loads(line)["files"]


def _add(file: File, lines: Iterable[Mapping[str, Any]]) -> None:
    for line in lines:
        number = int(line["line_number"])
        file.run[number] = file.run.get(number, False) or line["count"] > 0
        if line["branches"]:
            file.branches.setdefault(number, Line()).add(branch["count"] for branch in line["branches"])


def facts_of(files: Mapping[str, File]) -> dict[str, Any]:
    """What is stored: numbers for each file, and each line of which a branch is left."""
    gcov = subprocess.run(("gcov", "--version"), capture_output=True, text=True, check=True).stdout
    return {
        "solder": VERSION,
        "sha256": sha256_of_runtime({path.name: path.read_bytes() for path in RUNTIME.glob("*.[ch]")}),
        "tool": gcov.splitlines()[0],
        "tests": list(ROOMS),
        "files": [_file_facts(name, file) for name, file in files.items()],
    }


def _file_facts(name: str, file: File) -> dict[str, Any]:
    text = (RUNTIME / name).read_text(encoding="utf-8").splitlines()
    lines = sorted(file.branches.items())
    return {
        "name": name,
        "lines": len(file.run),
        "run_lines": sum(file.run.values()),
        "branches": sum(len(line.taken) for _, line in lines),
        "taken": sum(sum(line.taken) for _, line in lines),
        "gaps": [
            {"line": n, "text": text[n - 1].strip(), "branches": len(line.taken), "taken": sum(line.taken)}
            for n, line in lines
            if not all(line.taken)
        ],
    }


def table(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| file | lines run | of | branches taken | of |"
    yield "|---|---:|---:|---:|---:|"
    for file in files:
        cells = [file[key] for key in ("name", "run_lines", "lines", "taken", "branches")]
        yield f"| {' | '.join(map(str, cells))} |"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Counts which branches of the device runtime its tests take."
    )
    parser.add_argument("--store", action="store_true", help=f"write the counts to {STORED.name}")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        status = run_tests(Path(folder))
        facts = facts_of(counted(Path(folder)))
    for text in table(facts["files"]):
        say(text)
    gaps = [(file["name"], gap) for file in facts["files"] for gap in file["gaps"]]
    for name, gap in gaps:
        say(f"{name}:{gap['line']}: {gap['taken']} of {gap['branches']}: {gap['text']}")
        say(f"    {reason_in_runtime(name, gap['text']) or 'NO REASON'}")
    without = [gap for name, gap in gaps if not reason_in_runtime(name, gap["text"])]
    if arguments.store and not status:
        STORED.write_text(f"{json.dumps(facts, indent=1)}\n", encoding="utf-8")
    return int(bool(status or without))


if __name__ == "__main__":
    sys.exit(main())
