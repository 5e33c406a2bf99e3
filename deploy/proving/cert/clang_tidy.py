"""Runs clang-tidy's checks of CERT C over files of C, and counts what they find by check."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from aot.errors import MissingToolError
from aot.records import dataclass
from deploy.proving.tool_run import run_tool

TIDY = "clang-tidy"
_CHECKS = "-checks=-*,cert-*"
_NAMED = re.compile(r"^ +(cert-\w+-c)$", re.MULTILINE)  # those of C++ end otherwise
_FOUND = re.compile(r"^\S+?:\d+:\d+: warning: .* \[(cert-[\w-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CertFindings:
    tool: str
    checked: tuple[str, ...]
    found: Mapping[str, int]  # check -> places


def check_cert(files: Sequence[str], folder: Path) -> CertFindings:
    """Checks files in the folder, with the headers that they include. Raises MissingToolError, ToolError."""
    if shutil.which(TIDY) is None:
        raise MissingToolError(f"{TIDY} is not installed", hint="Debian has it in clang-tidy")
    listed = run_tool((TIDY, _CHECKS, "--list-checks"), folder).stdout.decode()
    said = run_tool((TIDY, "--quiet", _CHECKS, *files, "--", "-std=c99", "-I."), folder).stdout.decode()
    version = run_tool((TIDY, "--version"), folder).stdout.decode()
    return CertFindings(
        tool=next(line.strip() for line in version.splitlines() if "version" in line),
        checked=tuple(_NAMED.findall(listed)),
        found=Counter(_FOUND.findall(said)),
    )
