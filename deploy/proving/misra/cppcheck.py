"""Runs cppcheck with its MISRA C:2012 addon on C files and counts the findings by rule."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import MissingToolError, ToolError
from deploy.proving.control import require_reported
from deploy.proving.lone_program import write_files
from deploy.proving.misra.deviations import OTHER_MESSAGES
from deploy.proving.tool_run import run_tool

CPPCHECK = "cppcheck"
_ARGV = (
    CPPCHECK, "--addon=misra", "--std=c99", "--enable=style", "--template={id} {file}:{line}",
)  # fmt: skip
_ADDONS = ("/usr/lib/*/cppcheck/addons/misra.py", "/usr/share/cppcheck/addons/misra.py")
_RULE = re.compile(r"misra-c2012-(\d+\.\d+) ")
_CHECKED = re.compile(r"^Checking (\S+) \.\.\.", re.MULTILINE)
_CONTROL = "control.c"
_CONTROL_TEXT = """\
#include <stdlib.h>
int control(int a, char *text);
int control(int a, char *text)
{
    int *number = (int *)text;
    if (a > 0)
        goto end;
    switch (a) {
    case 1:
        break;
    }
    number = malloc(4);
    free(number);
end:
    return a;
}
"""
_CONTROL_RULES = ("11.3", "15.1", "15.6", "16.4", "21.3")  # violated by the control file
_LISTED = re.compile(r"^(\d+\.\d+)[ \t]*(X?)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MisraFindings:
    tool: str
    checked: tuple[str, ...]  # rules that the tool checks
    unchecked: tuple[str, ...]
    found: Mapping[str, int]  # rule -> number of findings


def check_misra(files: Sequence[str], folder: Path) -> MisraFindings:
    """Checks files in the folder, and the headers they include. Raises ToolError."""
    addon = _addon()
    table = run_tool((sys.executable, str(addon), "-generate-table"), folder).stdout.decode()
    listed = _LISTED.findall(table)
    with TemporaryDirectory() as name:
        write_files({_CONTROL: _CONTROL_TEXT}, Path(name))
        require_reported(CPPCHECK, _CONTROL_RULES, _rules((_CONTROL,), Path(name)))
    return MisraFindings(
        tool=run_tool((CPPCHECK, "--version"), folder).stdout.decode().strip(),
        checked=tuple(rule for rule, mark in listed if mark),
        unchecked=tuple(rule for rule, mark in listed if not mark),
        found=Counter(_rules(files, folder)),
    )


def _rules(files: Sequence[str], folder: Path) -> list[str]:
    """Returns the rule of each finding. Raises ToolError if a file was not read completely."""
    done = run_tool((*_ARGV, *files), folder)
    read = _CHECKED.findall(done.stdout.decode(errors="replace"))
    if unread := [file for file in files if file not in read]:
        raise ToolError(f"{CPPCHECK} does not say that it checked {unread[0]}")
    found = []
    for line in done.stderr.decode(errors="replace").splitlines():
        rule = _RULE.match(line)
        if rule:
            found.append(rule[1])
        elif line.partition(" ")[0] not in OTHER_MESSAGES:
            raise ToolError(
                f'{CPPCHECK} says "{line}", which is about no rule: it may not have read the file'
            )
    return found


def _addon() -> Path:
    """Returns the installed addon; its table lists the checked rules."""
    if shutil.which(CPPCHECK) is None:
        raise MissingToolError(f"{CPPCHECK} is not installed", hint="Debian has it in cppcheck")
    found = [path for pattern in _ADDONS for path in Path("/").glob(pattern.removeprefix("/"))]
    if not found:
        raise MissingToolError(f"{CPPCHECK} has no addon misra.py", hint=f"looked at {', '.join(_ADDONS)}")
    return found[0]
