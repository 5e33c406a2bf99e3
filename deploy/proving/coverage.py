"""The chapter on coverage: branches of generated C and of the runtime that tests cover, and the gaps."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aot.errors import MissingToolError, ToolError
from aot.ir.types import Array
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
from platforms.project import project_source

# Reasons for branches without coverage, by the text of their line.


@dataclass(frozen=True, slots=True)
class GapReason:
    line: str  # a regular expression
    reason: str


GAPS = (
    GapReason(r"^ *(switch|default:)|^ *case \d+:", "The table of the order names no layer but the cases'."),
    GapReason(
        r"\? low : v > high|clamp|> 127 \?|> 255 \?|most > x|INT32_MAX",
        "A saturation: which ends of the range these weights reach depends on the sample.",
    ),
    GapReason(r"difference <|bits \+ |x == 0|rest &|\(v < 0\)|rest > half",
              "A part of the range of exp, which the scores of these samples do not reach."),
    GapReason(r"right < 0|step < 255|sum >= 0", "A helper serves any layer: here all numbers are alike."),
    GapReason(r"solder_on_layer", "The profiler's hook, which is built into served firmware alone."),
    GapReason(r"== NULL|_ARENA_ALIGN", "The compiler joined conditions that are tested one by one."),
)  # fmt: skip


def reason_of(line: str) -> str:
    """Returns "" if no reason is known."""
    return next((gap.reason for gap in GAPS if re.search(gap.line, line)), "")


# Builds a model's C with gcc's coverage counters, runs samples on this computer, and reads the counts.

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


# Branch coverage of the device runtime by its tests, from the latest measurement in the source tree.

STORED = Path(str(files("deploy.proving.branches") / "runtime.json"))


@dataclass(frozen=True, slots=True)
class RuntimeGap:
    """A line with uncovered branches."""

    line: int
    text: str
    branches: int
    taken: int


@dataclass(frozen=True, slots=True)
class RuntimeFile:
    name: str
    lines: int
    run_lines: int
    branches: int
    taken: int
    gaps: tuple[RuntimeGap, ...]


@dataclass(frozen=True, slots=True)
class RuntimeCoverage:
    solder: str  # version of the measured runtime
    sha256: str  # of that runtime
    tool: str
    tests: tuple[str, ...]
    files: tuple[RuntimeFile, ...]


def stored_coverage() -> RuntimeCoverage:
    facts = json.loads(STORED.read_text(encoding="utf-8"))
    counted = [
        RuntimeFile(**{**file, "gaps": tuple(RuntimeGap(**gap) for gap in file["gaps"])})
        for file in facts["files"]
    ]
    return RuntimeCoverage(**{**facts, "tests": tuple(facts["tests"]), "files": tuple(counted)})


@dataclass(frozen=True, slots=True)
class RuntimeBranches:
    """A page's section about the runtime of a model; empty if there is none."""

    summary: str = ""
    exceptions: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    unexplained: tuple[str, ...] = ()  # a sentence for each line without a known reason


def runtime_branches(runtime: Mapping[str, bytes]) -> RuntimeBranches:
    """Returns the coverage of this runtime, or a note that it was not measured."""
    if not runtime:
        return RuntimeBranches()
    counted = stored_coverage()
    if sha256_of_runtime(runtime) != counted.sha256:
        what = f"the runtime is not the one whose branches were counted, that of Solder {counted.solder}"
        return RuntimeBranches("of the runtime nothing is counted", (what,))
    taken, branches = (sum(getattr(file, what) for file in counted.files) for what in ("taken", "branches"))
    gaps = [(file.name, gap) for file in counted.files for gap in file.gaps]
    rows = [(file.name, file.lines, file.run_lines, file.branches, file.taken) for file in counted.files]
    columns = ("file", "lines", "lines run", "branches", "branches taken")
    left = [
        (
            f"{name}:{gap.line}",
            gap.text,
            f"{gap.taken} of {gap.branches}",
            reason_in_runtime(name, gap.text) or "none",
        )
        for name, gap in gaps
    ]
    return RuntimeBranches(
        f"of the runtime {taken} of {branches} are taken by the source tree's tests",
        tuple(f"runtime, {where}, {taken}: {reason}" for where, _, taken, reason in left),
        (
            Table("Branches of the runtime", columns, rows),
            Table("Branches of the runtime that no test takes", ("where", "C", "taken", "reason"), left),
        ),
        tuple(
            f"{where} of the runtime, {taken} branches, is left without a known reason"
            for where, _, taken, reason in left
            if reason == "none"
        ),
    )


def sha256_of_runtime(texts: Mapping[str, bytes]) -> str:
    """Returns a hash of all files, sorted by name."""
    digests = [f"{hashlib.sha256(texts[name]).hexdigest()}  {name}\n" for name in sorted(texts)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def reason_in_runtime(file: str, text: str) -> str:
    """Returns why no test covers a branch of the line, or "" if unknown."""
    return next((reason for name, line, reason in _GAPS if name in ("", file) and re.search(line, text)), "")


_PARSED = "The signature is the firmware's own, parsed when it was registered: no request changes it."
_ON_BOARDS = (
    "Loaded code is called on emulated boards (tests/platforms/test_loaded_code.py), which keep no counts."
)
_MODELS = (
    "The models of the firmware are made by this compiler, and none is like that; kept for other makers."
)
_LIMITED = "The firmware of these tests has fewer; the limit is there for a firmware of another maker."

# File, regular expression for the line, and why no test covers a branch of it.
_GAPS: tuple[tuple[str, str, str], ...] = (
    ("solder_arena.c", r"i >= solder_arena_count", _MODELS),
    ("solder_arena.c", r"input_count > MOST_INPUTS", _MODELS),
    (
        "solder_arena.c", r"number == 0 && solder_cartridge_slot",
        "Firmware for weights alone serves its line on emulated boards; here its loader runs alone.",
    ),
    ("solder_call.c", r"\*at >= '0'|\*text != mark|\*text == mark|at = without_spaces\(signature\)", _PARSED),
    (
        "solder_cartridge.c", r"stack == 0",
        "A port that does not know its stack is that of this computer, and its tests have one that does.",
    ),
    ("solder_cartridge.c", r"dtype <= SOLDER_I16", "The models of these cartridges read small integers."),
    ("solder_cartridge.c", r"reset_state != NULL", "The models of these cartridges keep no state."),
    ("solder_cartridge.c", r"run\(solder_arenas\) != 0", "A run fails by a wrong arena alone."),
    (
        "solder_cartridge.c", r"update\.slot == solder_cartridge_slot",
        "An update goes to the other slot, so no request finds it running: the table holds that too.",
    ),
    (
        "solder_cartridge.c", r"solder_arena_has_room\(header",
        "The compiler joined conditions that are tested one by one.",
    ),
    (
        "solder_cartridge.c", r"left != SOLDER_BUILT_IN",
        "Going back from the built-in model is tested by the line (tests/api/test_cartridge_on_boards.py), "
        "in firmware that keeps no counts.",
    ),
    (
        "solder_cartridge_line.c", r"SOLDER_CARTRIDGE_WISH_BEGIN",
        "Going back by the line is tested in firmware that keeps no counts "
        "(tests/api/test_cartridge_on_boards.py).",
    ),
    ("solder_hello.c", r"SOLDER_MOST_BUILD_ID|SOLDER_MOST_HASHES", _LIMITED),
    ("solder_server.c", r"timing\.code == 0", "A run in a measurement fails by a wrong arena alone."),
    ("solder_server.c", r"^if \(model == NULL\)", "These tests ask for counters of models that there are."),
    ("solder_server.c", r"ticks < UINT32_MAX", "No run of these tests takes four thousand million ticks."),
    ("solder_slot.c", r"slot\.bytes == 0", "A board without free memory has firmware without this file."),
    ("solder_slot.c", r"", _ON_BOARDS),
    ("solder_stack.c", r"lowest == whole\.low", "A stack that was used up ends the process of a test."),
    ("solder_table.c", r"count > MOST_POINTERS|arena_count > MOST_ARENAS", _LIMITED),
    (
        "solder_ticks.c", r"still < STILL_READS",
        "The counter of this computer moves; that of qemu-microbit does not, but it keeps no counts.",
    ),
)  # fmt: skip


_SEED = 1
_RANDOM = 5
_METHOD = (
    "The C of the archive is built by gcc on this computer, without optimization and with its counters. It "
    "runs on the least and the greatest input, on both in turn, on zeros and on random inputs, and is called "
    "with each pointer null and with an arena that is not aligned. Outputs are compared with the reference.",
    "gcov counts each condition of an expression by itself. Each line with a branch that is left is an "
    "exception of this page, with a reason by the kind of the line; one without a reason fails the chapter.",
    "The runtime that serves a line (server, line, lock, loader, cartridges, tables) is the same for every "
    "model. Its branches are those that the source tree's command counted last, over every build that its "
    "tests make (tests/runtime_coverage/runtime_coverage.py): they are not counted by this run, and stand "
    "only for a runtime with the same SHA-256. What a chip needs besides is not in it.",
)


def examine_coverage(subject: Subject) -> Finding:
    """Runs the samples. Raises MissingToolError. Outputs that differ from the reference fail."""
    artifact = subject.artifact
    if why := obstacle(artifact):
        return not_run(why)
    samples = list(_samples(artifact))
    with TemporaryDirectory() as folder:
        found = measure_coverage(artifact, samples, Path(folder))
    table = Table(
        "Branches that no sample takes", ("line", "function", "C", "taken", "reason"), tuple(_rows(found))
    )
    summary = (
        f"{found.run_lines} of {found.lines} lines are run, and {found.taken} of {found.branches} branches "
        f"taken, by {len(samples)} samples and wrong calls"
    )
    failures = [
        f"{_where(line)} is left without a known reason" for line in found.gaps if not reason_of(line.text)
    ]
    if differs_from_reference(artifact, samples, found.outputs):
        failures = ["the outputs are not those of the reference", *failures]
    runtime = runtime_branches(artifact.runtime)
    failures += runtime.unexplained
    if failures:
        tables = (table, *runtime.tables)
        return Finding(Standing.FAILED, "; ".join(failures), (), _METHOD, tables, (found.tool,))
    left = (*(f"{_where(line)}: {reason_of(line.text)}" for line in found.gaps), *runtime.exceptions)
    standing = Standing.EXCEPTIONS if left else Standing.PROVEN
    summary = f"{summary}; {runtime.summary}" if runtime.summary else summary
    return Finding(standing, summary, left, _METHOD, (table, *runtime.tables), (found.tool,))


def _samples(artifact: Artifact) -> Iterator[tuple[Array, ...]]:
    """Yields samples with the ends of the range, zeros, and mixed values."""
    rng = np.random.default_rng(_SEED)
    types = [(tensor.type.shape, tensor.type.dtype.numpy) for tensor in artifact.facts.inputs]
    ends = [_ends(dtype) for _, dtype in types]
    yield tuple(np.full(shape, low, dtype) for (shape, dtype), (low, _) in zip(types, ends, strict=True))
    yield tuple(np.full(shape, high, dtype) for (shape, dtype), (_, high) in zip(types, ends, strict=True))
    yield tuple(np.zeros(shape, dtype) for shape, dtype in types)
    yield tuple(
        np.resize(np.array(both, dtype), shape) for (shape, dtype), both in zip(types, ends, strict=True)
    )
    for _ in range(_RANDOM):
        yield tuple(
            (low + (high - low) * rng.random(shape)).astype(dtype)
            for (shape, dtype), (low, high) in zip(types, ends, strict=True)
        )


def _ends(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype == np.bool_:
        return 0, 1
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-1.0, 1.0)


def _rows(found: Coverage) -> Iterator[tuple[int | str, ...]]:
    for line in found.gaps:
        yield (
            line.number,
            line.function,
            line.text,
            f"{line.taken} of {line.branches}",
            reason_of(line.text) or "none",
        )


def _where(line: CountedLine) -> str:
    return f"line {line.number} of {line.function}, {line.taken} of {line.branches} branches"
