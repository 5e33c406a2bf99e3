"""Builds a model's C with clang's checks of integers, and runs samples on this computer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aot.errors import MissingToolError
from aot.ir.types import Array
from aot.records import dataclass
from artifact.artifact import Artifact
from deploy.proving.lone_program import driver, write_files
from deploy.proving.sanitized.intended import reason_of
from deploy.proving.tool_run import run_tool

_DRIVER = "samples.c"
CHECKS = "undefined,integer,float-cast-overflow"
# Reports do not end the program: each place reports once, and all of them are wanted.
_BUILD = ("clang", "-std=c99", "-O1", "-g", "-w", f"-fsanitize={CHECKS}", "-fsanitize-recover=all")
_REPORT = re.compile(r"^(\S+?):(\d+):\d+: runtime error: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A place and the words of a check about it."""

    file: str
    line: int
    text: str  # of the line
    says: str
    reason: str  # why it is not a fault; empty: it is one


@dataclass(frozen=True, slots=True)
class SanitizedRun:
    tool: str
    reports: tuple[CheckReport, ...]
    outputs: bytes  # of all samples

    @property
    def faults(self) -> tuple[CheckReport, ...]:
        return tuple(each for each in self.reports if not each.reason)


def run_sanitized(artifact: Artifact, samples: Sequence[Sequence[Array]], folder: Path) -> SanitizedRun:
    """Runs each sample, whose arrays are in the order of the inputs. Raises MissingToolError, ToolError."""
    if shutil.which("clang") is None:
        raise MissingToolError(
            "clang is not installed, and the checks of integers are its alone", hint="Debian has it in clang"
        )
    name = artifact.name
    files = {**artifact.headers, **artifact.sources, _DRIVER: driver(artifact, _DRIVER, wrong_calls=())}
    write_files(files, folder)
    sources = (f"{name}.c", f"{name}_weights.c", _DRIVER)
    run_tool((*_BUILD, *sources, "-lm", "-o", "sanitized"), folder)
    given = b"".join(array.tobytes() for sample in samples for array in sample)
    done = run_tool((str(folder / "sanitized"),), folder, given)
    reports = tuple(sorted(set(_reports(done.stderr.decode(errors="replace"), files)), key=_place))
    version = run_tool(("clang", "--version"), folder).stdout.decode().splitlines()[0]
    return SanitizedRun(version, reports, done.stdout)


def _reports(said: str, files: Mapping[str, str]) -> Iterator[CheckReport]:
    for path, line, says in _REPORT.findall(said):
        file, number = Path(path).name, int(line)
        text = files[file].splitlines()[number - 1].strip()
        yield CheckReport(file, number, text, says, reason_of(says, text))


def _place(report: CheckReport) -> tuple[str, int, str]:
    return report.file, report.line, report.says
