"""The chapter on extremes: runs with extreme inputs under clang's integer sanitizers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import MissingToolError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from aot.wording import counted
from artifact.artifact import Artifact
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.lone_program import (
    differs_from_reference,
    driver,
    obstacle,
    require_reported,
    run_tool,
    write_files,
)
from deploy.proving.subject import Subject
from deploy.proving.time import adversarial_inputs

# Sanitizer reports that are not faults: casts to unsigned numbers wrap intentionally.


@dataclass(frozen=True, slots=True)
class Intended:
    report: str  # a regular expression for clang's text
    line: str  # a regular expression for the C line, in which the wrap is explicit
    reason: str


INTENDED = (
    Intended(
        r"^left shift of \d+ by \d+ places cannot be represented in type 'uint",
        r"\(uint\d+_t\)|<<=",
        "Shifted as an unsigned number, whose high bits are lost by the definition of C: those of a "
        "negative number are copies of its sign.",
    ),
    Intended(
        r"^unsigned integer overflow: ",
        r"\(uint\d+_t\)",
        "Written in unsigned numbers, which wrap by the definition of C: the reference wraps here, too.",
    ),
)


def reason_of(report: str, line: str) -> str:
    """Returns why the report is not a fault, or "" if it is one."""
    return next(
        (each.reason for each in INTENDED if re.search(each.report, report) and re.search(each.line, line)),
        "",
    )


# Builds a model's C with clang's integer sanitizers, and runs samples on this computer.

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
    message: str
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
    reports = tuple(sorted(set(_clang_reports(done.stderr.decode(errors="replace"), files)), key=_place))
    version = run_tool(("clang", "--version"), folder).stdout.decode().splitlines()[0]
    return SanitizedRun(version, reports, done.stdout)


def _require_checks(folder: Path) -> None:
    """Raises ToolError unless the sanitizers report each defect of the control file."""
    write_files({_CONTROL: _CONTROL_TEXT}, folder)
    run_tool((*_BUILD, _CONTROL, "-o", "control"), folder)
    said = run_tool((str(folder / "control"),), folder).stderr.decode(errors="replace")
    found = [message for _, _, message in _REPORT.findall(said)]
    reported = [wanted for wanted in _CONTROL_REPORTS if any(wanted in message for message in found)]
    require_reported("clang -fsanitize", _CONTROL_REPORTS, reported)


def _clang_reports(said: str, files: Mapping[str, str]) -> Iterator[CheckReport]:
    for path, line, message in _REPORT.findall(said):
        file, number = Path(path).name, int(line)
        text = files[file].splitlines()[number - 1].strip()
        yield CheckReport(file, number, text, message, reason_of(message, text))


def _place(report: CheckReport) -> tuple[str, int, str]:
    return report.file, report.line, report.message


_METHOD = (
    f"The C of the archive is built by clang on this computer with -fsanitize={CHECKS}: beside what C does "
    "not define, each unsigned sum, product or shift that wraps, and each conversion that loses a value "
    "without being written as a cast, is reported. It runs on each of the inputs of the first table.",
    "Where sums wrap by the reference's definition, or a negative number is shifted, the C casts to unsigned "
    "numbers, which wrap by the definition of C. Such reports are listed with their reason; any other makes "
    "this chapter fail.",
    "'The greatest sum of the first layer' is made of the signs of the weights of one of its channels. "
    "Where all inputs are integers the outputs are compared with the reference.",
)
_NO_PROOF = "runs on some inputs prove nothing of others: that is the matter of the chapters with proofs"
_NOT_COMPARED = "inputs are floats, so the outputs are not compared here"


def examine_extremes(subject: Subject) -> Finding:
    """Runs the inputs. Raises MissingToolError without clang. Reports without a reason fail."""
    artifact = subject.artifact
    if why := obstacle(artifact):
        return not_run(why)
    specs = [TensorSpec(tensor.name, tensor.type) for tensor in artifact.facts.inputs]
    inputs = adversarial_inputs(artifact.graph, specs)
    samples = list(inputs.values())
    with TemporaryDirectory() as folder:
        found = run_sanitized(artifact, samples, Path(folder))
    tables = (Table("Inputs", ("input",), [(what,) for what in inputs]), _reports(found.reports))
    compared = all(spec.dtype.kind in "iu" for spec in specs)
    if found.faults:
        first = found.faults[0]
        where = f"{first.file}:{first.line}: {first.message}"
        summary = f"{counted(len(found.faults), 'report')} without a reason, the first {where}"
        return Finding(Standing.FAILED, summary, (), _METHOD, tables, (found.tool,))
    if compared and differs_from_reference(artifact, samples, found.outputs):
        summary = "the outputs are not those of the reference"
        return Finding(Standing.FAILED, summary, (), _METHOD, tables, (found.tool,))
    summary = (
        f"{counted(len(inputs), 'input')}, nothing undefined and no wrap that is not written as such; "
        f"{counted(len(found.reports), 'place')} that shall wrap"
    )
    exceptions = (_NO_PROOF,) if compared else (_NO_PROOF, _NOT_COMPARED)
    return Finding(Standing.EXCEPTIONS, summary, exceptions, _METHOD, tables, (found.tool,))


def _reports(reports: Sequence[CheckReport]) -> Table:
    rows = [(each.file, each.line, each.text, each.message, each.reason or "none") for each in reports]
    return Table("Reports of the checks", ("file", "line", "C", "report", "reason"), rows)
