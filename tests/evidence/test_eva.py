"""Frama-C's EVA finds no undefined behaviour in generated C, and finds what is put there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from strict_archives import artifact, changed

from aot.errors import MissingToolError
from artifact.artifact import Artifact
from boards.cores import load_core
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.lone_program import obstacle
from deploy.proving.subject import Subject
from deploy.proving.undefined_behaviour import (
    EvaAnalysis,
    analyse,
    annotated,
    examine_undefined_behaviour,
    without_annotations,
)

FRAMA_C_MISSING = "needs the program frama-c: 870 MB that no other test needs, so CI does not install it"


@pytest.fixture
def analysed(tmp_path: Path, require_tool: Callable[..., None]) -> Callable[[Artifact], EvaAnalysis]:
    if shutil.which("frama-c") is None:
        pytest.skip(FRAMA_C_MISSING)
    require_tool("gcc")
    return lambda made: analyse(made, tmp_path)


@pytest.mark.cc
def test_a_network_has_no_undefined_behaviour(analysed: Callable[[Artifact], EvaAnalysis]) -> None:
    found = analysed(artifact("classifier"))
    assert [alarm.message for alarm in found.alarms] == [
        "function reciprocal: precondition 'least' got status unknown."
    ]
    assert found.open == ()
    assert found.reached == found.statements
    assert [each.function for each in found.by_contract] == ["reciprocal", "reciprocal_bits"]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("pattern", "by", "says"),
    [
        (r"(sum\d?) \+= x\[", r"\1 += 3000000 * x[", "signed overflow"),
        (r"y\[(\w+)\] = ", r"y[\1 + 4000] = ", "out of bounds write"),
    ],
)
def test_what_is_put_there_is_found(
    pattern: str, by: str, says: str, analysed: Callable[[Artifact], EvaAnalysis]
) -> None:
    found = analysed(changed(artifact("dense"), pattern, by))
    assert any(alarm.message.startswith(says) for alarm in found.open)


def test_annotations_are_all_that_is_added() -> None:
    code = artifact("classifier").sources["classifier.c"]
    shown = annotated(code)
    assert shown.count("/*@ loop unroll") >= 2
    assert without_annotations(shown) == code


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (
            lambda: artifact("conv", CompileOptions()),
            "its C has instructions of a core: compile it with --dialect strict",
        ),
        (
            lambda: changed_target(artifact("dense")),
            "constants lie in __flash, which is not C",
        ),
    ],
)
def test_what_it_cannot_follow_is_said(made: Callable[[], Artifact], says: str) -> None:
    assert obstacle(made()) == says


def changed_target(made: Artifact) -> Artifact:
    return replace(made, facts=replace(made.facts, target=load_core("avr").target()))


def test_without_the_tool_the_chapter_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="frama-c is not installed"):
        examine_undefined_behaviour(Subject(artifact("dense")))


def test_inline_assembly_is_not_run_and_says_why() -> None:
    found = examine_undefined_behaviour(Subject(artifact("conv", CompileOptions())))
    assert (found.verdict, found.summary) == (
        Standing.NOT_RUN,
        "its C has instructions of a core: compile it with --dialect strict",
    )
