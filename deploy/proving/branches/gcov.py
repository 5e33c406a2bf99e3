"""Builds a model's C with gcc's coverage counters, runs samples on this computer, and reads the counts."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import MissingToolError, ToolError
from aot.ir.types import Array
from artifact.artifact import Artifact
from deploy.proving.control import require_reported
from deploy.proving.lone_program import driver, write_files
from deploy.proving.tool_run import run_tool
from platforms.project import project_source

_DRIVER = "samples.c"
_CONTROL_TEXT = """\
int main(int count, char **words)
{
    (void)words;
    if (count > 99) {
        return 1;
    }
    for (int i = 0; i < 3; ++i) {
        count += i;
    }
    return count == 99;
}
"""
_CONTROL_COUNTS = ((4, 2, 1), (7, 2, 2))  # line, branches, taken
_CONTROL_GAP = "the branch that is not taken"
_BUILD = ("gcc", "-std=c99", "-O0", "-g", "-w", "--coverage", "-fprofile-abs-path")


@dataclass(frozen=True, slots=True)
class CountedLine:
    """A line with branches, in the order of gcov's list."""

    number: int
    function: str
    text: str
    branches: int
    taken: int


@dataclass(frozen=True, slots=True)
class Coverage:
    tool: str
    lines: int
    run_lines: int
    counted: tuple[CountedLine, ...]
    outputs: bytes  # of all samples

    @property
    def branches(self) -> int:
        return sum(line.branches for line in self.counted)

    @property
    def taken(self) -> int:
        return sum(line.taken for line in self.counted)

    @property
    def gaps(self) -> tuple[CountedLine, ...]:
        return tuple(line for line in self.counted if line.taken < line.branches)


def measure_coverage(artifact: Artifact, samples: Sequence[Sequence[Array]], folder: Path) -> Coverage:
    """Runs each sample, with arrays in the order of the inputs. Raises ToolError."""
    for tool in ("gcc", "gcov"):
        if shutil.which(tool) is None:
            raise MissingToolError(f"{tool} is not installed", hint="Debian has it in gcc")
    _require_counts(folder)
    name = artifact.name
    counting = driver(artifact, _DRIVER, wrong_calls=_wrong_calls(artifact))
    write_files({**artifact.headers, **artifact.sources, _DRIVER: counting}, folder)
    given = b"".join(array.tobytes() for sample in samples for array in sample)
    sources = (f"{name}.c", f"{name}_weights.c", _DRIVER)
    lines, run, counted, outputs = _count(name, artifact.sources[f"{name}.c"], sources, folder, given)
    tool = run_tool(("gcov", "--version"), folder).stdout.decode().splitlines()[0]
    return Coverage(tool, lines, run, counted, outputs)


def _count(
    name: str, code: str, sources: Sequence[str], folder: Path, given: bytes = b""
) -> tuple[int, int, tuple[CountedLine, ...], bytes]:
    """Builds and runs the sources.

    Returns lines, executed lines, and branches of the first one; the output.
    """
    run_tool((*_BUILD, *sources, "-lm", "-o", "counted"), folder)
    outputs = run_tool((str(folder / "counted"),), folder, given).stdout
    report = ("gcov", "--json-format", "--stdout", "-b", f"counted-{name}.gcda")
    try:
        said = json.loads(run_tool(report, folder).stdout)
    except ValueError:
        raise ToolError(f"gcov writes no JSON about {name}.c") from None
    return (*_read(said, name, code.splitlines()), outputs)


def _require_counts(folder: Path) -> None:
    """Raises ToolError unless gcov reports the control file's uncovered branch."""
    write_files({"control.c": _CONTROL_TEXT}, folder)
    _, _, counted, _ = _count("control", _CONTROL_TEXT, ("control.c",), folder)
    counts = tuple((line.number, line.branches, line.taken) for line in counted)
    require_reported("gcov", (_CONTROL_GAP,), (_CONTROL_GAP,) if counts == _CONTROL_COUNTS else ())


def _read(
    said: dict[str, list[dict[str, object]]], name: str, text: Sequence[str]
) -> tuple[int, int, tuple[CountedLine, ...]]:
    """Sums up gcov's counts. A line of an inline function may be listed several times."""
    counts: defaultdict[int, int] = defaultdict(int)
    branches: dict[int, list[int]] = {}
    functions: dict[int, str] = {}
    for file in said["files"]:
        if not str(file["file"]).endswith(f"{name}.c"):
            continue
        for line in file["lines"]:  # type: ignore[attr-defined]
            number = int(line["line_number"])
            counts[number] += int(line["count"])
            functions.setdefault(number, line.get("function_name", ""))
            found = [int(branch["count"]) for branch in line["branches"]]
            if found:
                before = branches.setdefault(number, [0] * len(found))
                branches[number] = [a + b for a, b in zip(before, found, strict=False)] if before else found
    counted = tuple(
        CountedLine(
            number, functions[number], text[number - 1].strip(), len(each), sum(count > 0 for count in each)
        )
        for number, each in sorted(branches.items())
    )
    return len(counts), sum(count > 0 for count in counts.values()), counted


def _wrong_calls(artifact: Artifact) -> tuple[str, ...]:
    """Returns arguments that a run must reject: each pointer null, and each arena misaligned."""
    arenas = [arena.name for arena in project_source(artifact).arenas]
    together = ", ".join(arenas)
    changed = [
        f"&in, &out, {', '.join(wrong if name == each else name for name in arenas)}"
        for each in arenas
        for wrong in ("NULL", f"{each} + 1")
    ]
    return (f"NULL, &out, {together}", f"&in, NULL, {together}", *changed)
