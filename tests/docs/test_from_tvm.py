"""The page for those who come from TVM names commands, options and functions that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import deploy
from codegen.lang.template import TemplateKnobs
from deploy import lang
from deploy.building import BuiltKernel
from deploy.command import command_parser, load_command
from deploy.compiling import Compiled
from deploy.inspecting import Inspection

_SPAN = re.compile(r"`([^`]+)`")
PLACES = {
    "deploy": deploy,
    "lang": lang,
    "Schedule": lang.Schedule,
    "Knobs": TemplateKnobs,
    "BuiltKernel": BuiltKernel,
    "Compiled": Compiled,
    "Inspection": Inspection,
}


@pytest.fixture
def spans(repo_root: Path) -> list[str]:
    """All code in the right columns of the page's tables."""
    page = (repo_root / "docs" / "from-tvm.md").read_text(encoding="utf-8")
    rows = [line.rsplit(" | ", 1)[1] for line in page.splitlines() if line.startswith("| `")]
    return [span for row in rows for span in _SPAN.findall(row)]


def test_its_commands_are_understood(spans: list[str]) -> None:
    commands = [span for span in spans if span.startswith("deploy ")]
    assert len(commands) > 10
    for line in commands:
        _, command, *words = shlex.split(line)
        command_parser(command, load_command(command)).parse_args(words)


def test_its_functions_and_methods_are_there(spans: list[str]) -> None:
    named = [span.split(".") for span in spans if re.fullmatch(r"[A-Za-z]+\.[a-z_A-Z]+", span)]
    assert len(named) > 30
    missing = [
        ".".join((place, name))
        for place, name in named
        if not hasattr(PLACES[place], name) and name not in getattr(PLACES[place], "__annotations__", {})
    ]
    assert missing == []
