"""Runs clang-tidy's CERT C checks on C files and counts the findings by check."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import MissingToolError, ToolError
from deploy.proving.control import require_reported
from deploy.proving.lone_program import write_files
from deploy.proving.tool_run import run_tool

TIDY = "clang-tidy"
_CHECKS = "-checks=-*,cert-*"
_NAMED = re.compile(r"^ +(cert-\w+-c)$", re.MULTILINE)  # names of C++ checks have another suffix
_MESSAGE = re.compile(r"^\S+?:\d+:\d+: (?!note)(.*)$", re.MULTILINE)
_FOUND = re.compile(r"warning: .* \[(cert-[\w-]+)")
_CONTROL = "control.c"
_CONTROL_TEXT = """\
#include <stdlib.h>
int control(const char *text);
int control(const char *text)
{
    return system(text) + atoi(text);
}
"""
_CONTROL_CHECKS = ("cert-env33-c", "cert-err34-c")


@dataclass(frozen=True, slots=True)
class CertFindings:
    tool: str
    checked: tuple[str, ...]
    found: Mapping[str, int]  # check -> number of findings


def check_cert(files: Sequence[str], folder: Path) -> CertFindings:
    """Checks files in the folder, and the headers they include. Raises MissingToolError, ToolError."""
    if shutil.which(TIDY) is None:
        raise MissingToolError(f"{TIDY} is not installed", hint="Debian has it in clang-tidy")
    listed = run_tool((TIDY, _CHECKS, "--list-checks"), folder).stdout.decode()
    with TemporaryDirectory() as name:
        write_files({_CONTROL: _CONTROL_TEXT}, Path(name))
        require_reported(TIDY, _CONTROL_CHECKS, _findings((_CONTROL,), Path(name)))
    version = run_tool((TIDY, "--version"), folder).stdout.decode()
    return CertFindings(
        tool=next(line.strip() for line in version.splitlines() if "version" in line),
        checked=tuple(_NAMED.findall(listed)),
        found=Counter(_findings(files, folder)),
    )


def _findings(files: Sequence[str], folder: Path) -> list[str]:
    """Returns the check of each finding. Raises ToolError for any other message."""
    said = run_tool((TIDY, "--quiet", _CHECKS, *files, "--", "-std=c99", "-I."), folder).stdout.decode()
    messages = _MESSAGE.findall(said)
    if foreign := [message for message in messages if not _FOUND.match(message)]:
        raise ToolError(f'{TIDY} says "{foreign[0]}", which no check of CERT C does')
    return [check for message in messages for check in _FOUND.findall(message)]
