"""Branch coverage of the device runtime by its tests, from the latest measurement in the source tree."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from deploy.proving.chapter import Table

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
