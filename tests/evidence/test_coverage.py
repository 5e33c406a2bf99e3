"""Branches of generated C are counted on samples whose outputs are right; what is left has a reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from strict_archives import artifact, changed

from aot.errors import MissingToolError
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.coverage import examine_coverage
from deploy.proving.subject import Subject


@pytest.mark.cc
def test_nearly_all_branches_are_taken(require_tool: Callable[..., None]) -> None:
    require_tool("gcc", "gcov")
    found = examine_coverage(Subject(artifact("classifier")))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    assert len(found.exceptions) <= 6
    assert not [each for each in found.exceptions if "no reason is known" in each]


@pytest.mark.cc
def test_a_branch_that_nothing_takes_is_found(require_tool: Callable[..., None]) -> None:
    require_tool("gcc", "gcov")
    line = "if ((uintptr_t)in == 1u) { return 77; }"
    made = changed(artifact("dense"), r"\n    return 0;\n", f"\n    {line}\n    return 0;\n")
    found = examine_coverage(Subject(made))
    (table,) = found.tables
    assert [row[-1] for row in table.rows if row[2] == line] == ["none"]
    assert found.verdict is Standing.FAILED
    assert re.fullmatch(
        r"line \d+ of dense_run, \d of \d branches is left without a known reason", found.summary
    )


@pytest.mark.cc
def test_outputs_that_differ_fail(require_tool: Callable[..., None]) -> None:
    require_tool("gcc", "gcov")
    made = changed(artifact("dense"), r"(sum\d?) \+= x\[", r"\1 -= x[")
    found = examine_coverage(Subject(made))
    assert (found.verdict, found.summary) == (Standing.FAILED, "the outputs are not those of the reference")


def test_without_gcc_the_chapter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="gcc is not installed"):
        examine_coverage(Subject(artifact("dense")))


def test_inline_assembly_does_not_run_here() -> None:
    found = examine_coverage(Subject(artifact("conv", CompileOptions())))
    assert found.verdict is Standing.NOT_RUN
