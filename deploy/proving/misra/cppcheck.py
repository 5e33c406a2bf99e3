"""Runs cppcheck with its addon for MISRA C:2012 over files of C, and counts what it finds by rule."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from aot.errors import MissingToolError
from aot.records import dataclass
from deploy.proving.tool_run import run_tool

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
    """Checks files in the folder, with the headers that they include. Raises ToolError."""
    addon = _addon()
    table = run_tool((sys.executable, str(addon), "-generate-table"), folder).stdout.decode()
    listed = _LISTED.findall(table)
    said = run_tool((*_ARGV, *files), folder).stderr.decode(errors="replace")
    return MisraFindings(
        tool=run_tool((CPPCHECK, "--version"), folder).stdout.decode().strip(),
        checked=tuple(rule for rule, mark in listed if mark),
        unchecked=tuple(rule for rule, mark in listed if not mark),
        found=Counter(_RULE.findall(said)),
    )


def _addon() -> Path:
    """The addon beside the program: its table says which rules it checks."""
    if shutil.which(CPPCHECK) is None:
        raise MissingToolError(f"{CPPCHECK} is not installed", hint="Debian has it in cppcheck")
    found = [path for pattern in _ADDONS for path in Path("/").glob(pattern.removeprefix("/"))]
    if not found:
        raise MissingToolError(f"{CPPCHECK} has no addon misra.py", hint=f"looked at {', '.join(_ADDONS)}")
    return found[0]
