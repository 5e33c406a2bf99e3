"""Deviations from MISRA C:2012 are in one list, the same for every model; what is put there is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from strict_archives import artifact, changed

from aot.errors import MissingToolError
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.coding_standard import examine_coding_standard
from deploy.proving.misra.deviations import DEVIATIONS
from deploy.proving.subject import Subject

needs_cppcheck = pytest.mark.skipif(
    shutil.which("cppcheck") is None, reason="needs the program cppcheck, which CI does not install"
)


@pytest.mark.slow
@needs_cppcheck
def test_generated_c_deviates_from_what_is_listed_alone() -> None:
    for options in (CompileOptions(), None):
        found = examine_coding_standard(Subject(artifact("classifier", options)))
        assert found.verdict is Standing.EXCEPTIONS, found.summary
        (table,) = found.tables
        assert len(table.rows) > 140
        assert len(found.exceptions) <= len(DEVIATIONS)


@pytest.mark.slow
@needs_cppcheck
def test_a_rule_broken_without_a_reason_fails() -> None:
    made = changed(artifact("dense"), r"\n    return 0;\n", "\n    goto end;\nend:\n    return 0;\n")
    found = examine_coding_standard(Subject(made))
    assert found.verdict is Standing.FAILED
    assert "15.1" in found.summary


def test_each_deviation_stands_once_with_its_category() -> None:
    rules = [each.rule for each in DEVIATIONS]
    assert len(set(rules)) == len(rules)
    assert {each.category for each in DEVIATIONS} == {"required", "advisory"}


def test_without_the_tool_the_chapter_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="cppcheck is not installed"):
        examine_coding_standard(Subject(artifact("dense")))
