"""The pages for those who come from TVM and TFLite Micro name commands, options and functions that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import deploy
from codegen.accelerators.names import ACCELERATORS
from codegen.lang.template import TemplateKnobs
from deploy import lang
from deploy.cli.command import command_parser, load_command
from deploy.compiler.compile_model import Compiled
from deploy.devices.kernel_build import BuiltKernel
from deploy.inspection.inspect_model import Inspection
from deploy.tuner.schedule_search import SearchedSchedule

_SPAN = re.compile(r"`([^`]+)`")
READERS_LIBRARY = "cmsis-nn:path=CMSIS-NN"  # the command looks for the folder, which is not here
PLACES = {
    "deploy": deploy,
    "lang": lang,
    "Schedule": lang.Schedule,
    "Knobs": TemplateKnobs,
    "BuiltKernel": BuiltKernel,
    "Compiled": Compiled,
    "Inspection": Inspection,
    "SearchedSchedule": SearchedSchedule,
}


def spans_of(page: Path) -> list[str]:
    """All code in the right columns of the page's tables."""
    rows = [line.rsplit(" | ", 1)[1] for line in page.read_text().splitlines() if line.startswith("| ")]
    return [span for row in rows for span in _SPAN.findall(row)]


@pytest.fixture
def spans(repo_root: Path) -> list[str]:
    return spans_of(repo_root / "docs" / "from-tvm.md")


@pytest.mark.parametrize("page", ["from-tvm.md", "from-tflm.md"])
def test_its_commands_are_understood(page: str, repo_root: Path) -> None:
    commands = [span for span in spans_of(repo_root / "docs" / page) if span.startswith("deploy ")]
    assert len(commands) > 6
    for line in commands:
        _, command, *words = shlex.split(line.replace(READERS_LIBRARY, "gemm-npu"))
        command_parser(command, load_command(command)).parse_args(words)


def test_no_call_hides_where_it_belongs(spans: list[str]) -> None:
    """Of a bare `script()` nobody can look up whether it is there."""
    assert [span for span in spans if re.fullmatch(r"[a-z_]+\(\)", span)] == []


@pytest.mark.parametrize("name", ["cmsis-nn", "gemm-npu"])
def test_an_accelerator_is_named_and_is_there(name: str, spans: list[str]) -> None:
    """CMSIS-NN and VTA have counterparts; an example to copy is none."""
    asked = [word.partition(":")[0] for span in spans for word in re.findall(r"--accelerator (\S+)", span)]
    assert name in asked
    assert set(asked) <= {"cmsis-nn", "gemm-npu"}
    assert set(asked) <= set(ACCELERATORS)


def test_replacing_a_model_has_a_counterpart(repo_root: Path) -> None:
    page = (repo_root / "docs" / "from-tflm.md").read_text()
    assert "deploy load" in page
    assert "cartridge" not in page[page.index("differs") :]  # it is no difference


def test_its_functions_and_methods_are_there(spans: list[str]) -> None:
    named = [span.split(".") for span in spans if re.fullmatch(r"[A-Za-z]+\.[a-z_A-Z]+", span)]
    assert len(named) > 30
    missing = [
        ".".join((place, name))
        for place, name in named
        if not hasattr(PLACES[place], name) and name not in getattr(PLACES[place], "__annotations__", {})
    ]
    assert missing == []
