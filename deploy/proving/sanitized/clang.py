"""Builds a model's C with clang's integer sanitizers, and runs samples on this computer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import MissingToolError
from aot.ir.types import Array
from artifact.artifact import Artifact
from deploy.proving.control import require_reported
from deploy.proving.lone_program import driver, write_files
from deploy.proving.sanitized.intended import reason_of
from deploy.proving.tool_run import run_tool

_DRIVER = "samples.c"
CHECKS = "undefined,integer,float-cast-overflow"
# A report does not end the program. Each place reports once, and all are needed.
_BUILD = ("clang", "-std=c99", "-O1", "-g", "-w", f"-fsanitize={CHECKS}", "-fsanitize-recover=all")
_CONTROL = "control.c"
_CONTROL_TEXT = """\
#include <stdint.h>
int main(void)
{
    volatile int32_t most = INT32_MAX;
    volatile uint32_t wide = UINT32_MAX;
    volatile float far = 1e30f;
    volatile int8_t narrow;
    most = most + 1;
    wide = wide + 1u;
    narrow = (int8_t)(int)wide;
    narrow = most;
    most = (int32_t)far;
    return 0 * narrow;
}
"""
_CONTROL_REPORTS = (
    "signed integer overflow",
    "unsigned integer overflow",
    "implicit conversion",
    "outside the range of representable values",
)
_REPORT = re.compile(r"^(\S+?):(\d+):\d+: runtime error: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A sanitizer's report about a line."""

    file: str
    line: int
    text: str  # of the line
    says: str
    reason: str  # why it is not a fault; "": it is a fault


@dataclass(frozen=True, slots=True)
class SanitizedRun:
    tool: str
    reports: tuple[CheckReport, ...]
    outputs: bytes  # of all samples

    @property
    def faults(self) -> tuple[CheckReport, ...]:
        return tuple(each for each in self.reports if not each.reason)


def run_sanitized(artifact: Artifact, samples: Sequence[Sequence[Array]], folder: Path) -> SanitizedRun:
    """Runs each sample, with arrays in the order of the inputs. Raises MissingToolError, ToolError."""
    if shutil.which("clang") is None:
        raise MissingToolError(
            "clang is not installed, and the checks of integers are its alone", hint="Debian has it in clang"
        )
    _require_checks(folder)
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


def _require_checks(folder: Path) -> None:
    """Raises ToolError unless the sanitizers report each defect of the control file."""
    write_files({_CONTROL: _CONTROL_TEXT}, folder)
    run_tool((*_BUILD, _CONTROL, "-o", "control"), folder)
    said = run_tool((str(folder / "control"),), folder).stderr.decode(errors="replace")
    found = [says for _, _, says in _REPORT.findall(said)]
    reported = [wanted for wanted in _CONTROL_REPORTS if any(wanted in says for says in found)]
    require_reported("clang -fsanitize", _CONTROL_REPORTS, reported)


def _reports(said: str, files: Mapping[str, str]) -> Iterator[CheckReport]:
    for path, line, says in _REPORT.findall(said):
        file, number = Path(path).name, int(line)
        text = files[file].splitlines()[number - 1].strip()
        yield CheckReport(file, number, text, says, reason_of(says, text))


def _place(report: CheckReport) -> tuple[str, int, str]:
    return report.file, report.line, report.says
