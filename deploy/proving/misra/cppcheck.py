"""Runs cppcheck with its addon for MISRA C:2012 over files of C, and counts what it finds by rule."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import MissingToolError, ToolError

CPPCHECK = "cppcheck"
_ARGV = (
    CPPCHECK, "--addon=misra", "--std=c99", "--enable=style", "--quiet", "--template={id} {file}:{line}",
)  # fmt: skip
_ADDONS = ("/usr/lib/*/cppcheck/addons/misra.py", "/usr/share/cppcheck/addons/misra.py")
_RULE = re.compile(r"^misra-c2012-(\d+\.\d+) ", re.MULTILINE)
_LISTED = re.compile(r"^(\d+\.\d+)[ \t]*(X?)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MisraFindings:
    tool: str
    checked: tuple[str, ...]  # rules that the tool checks
    unchecked: tuple[str, ...]
    found: Mapping[str, int]  # rule -> places


def check_misra(files: Sequence[str], folder: Path) -> MisraFindings:
    """Checks files in the folder. Raises MissingToolError, ToolError."""
    addon = _addon()
    listed = _LISTED.findall(_run((sys.executable, str(addon), "-generate-table"), folder).stdout)
    said = _run((*_ARGV, *files), folder)
    return MisraFindings(
        tool=_run((CPPCHECK, "--version"), folder).stdout.strip(),
        checked=tuple(rule for rule, mark in listed if mark),
        unchecked=tuple(rule for rule, mark in listed if not mark),
        found=Counter(_RULE.findall(said.stderr)),
    )


def _addon() -> Path:
    """The addon beside the program: its table says which rules it checks."""
    if shutil.which(CPPCHECK) is None:
        raise MissingToolError(f"{CPPCHECK} is not installed", hint="Debian has it in cppcheck")
    found = [path for pattern in _ADDONS for path in Path("/").glob(pattern.removeprefix("/"))]
    if not found:
        raise MissingToolError(f"{CPPCHECK} has no addon misra.py", hint=f"looked at {', '.join(_ADDONS)}")
    return found[0]


def _run(argv: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-12:]
        raise ToolError(f"{argv[0]} failed with exit status {done.returncode}", "\n".join(lines))
    return done
