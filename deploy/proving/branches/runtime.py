"""Branches of the device runtime that its tests take, as the source tree's command counted them last."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

STORED = Path(str(files("deploy.proving.branches") / "runtime.json"))


@dataclass(frozen=True, slots=True)
class RuntimeGap:
    """A line of which a branch is left."""

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
    solder: str  # the version whose runtime was counted
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


def sha256_of_runtime(texts: Mapping[str, bytes]) -> str:
    """One hash of all its files, by name."""
    digests = [f"{hashlib.sha256(texts[name]).hexdigest()}  {name}\n" for name in sorted(texts)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def reason_in_runtime(file: str, text: str) -> str:
    """Why no test takes a branch of the line; empty where no reason is known."""
    return next((reason for name, line, reason in _GAPS if name in ("", file) and re.search(line, text)), "")


_GAPS: tuple[tuple[str, str, str], ...] = ()
