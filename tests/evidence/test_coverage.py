"""Branches that tests take, in generated C and in the runtime; what is left has a reason."""

import re
from collections.abc import Mapping

import pytest
from counted_gcc import with_counters
from runtime_coverage import File, Line
from strict_archives import artifact, changed

from aot.errors import MissingToolError
from codegen.options import CompileOptions
from deploy.proving import coverage
from deploy.proving.chapter import Standing
from deploy.proving.coverage import (
    RuntimeCoverage,
    RuntimeFile,
    RuntimeGap,
    examine_coverage,
    reason_in_runtime,
    runtime_branches,
    sha256_of_runtime,
    stored_coverage,
)
from deploy.proving.subject import Subject


@pytest.mark.cc
def test_nearly_all_branches_are_taken(require_tool):
    require_tool("gcov")
    found = examine_coverage(Subject(artifact("classifier")))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    assert len(found.exceptions) <= 6
    assert not [each for each in found.exceptions if "no reason is known" in each]


@pytest.mark.cc
def test_a_branch_that_nothing_takes_is_found(require_tool):
    require_tool("gcov")
    line = "if ((uintptr_t)in == 1u) { return 77; }"
    made = changed(artifact("dense"), r"\n    return \w+_OK;\n", f"\n    {line}\n    return 0;\n")
    found = examine_coverage(Subject(made))
    (table,) = found.tables
    assert [row[-1] for row in table.rows if row[2] == line] == ["none"]
    assert found.verdict is Standing.FAILED
    assert re.fullmatch(
        r"line \d+ of dense_run, \d of \d branches is left without a known reason", found.summary
    )


@pytest.mark.cc
def test_outputs_that_differ_fail(require_tool):
    require_tool("gcov")
    made = changed(artifact("dense"), r"(sum\d?) \+= x\[", r"\1 -= x[")
    found = examine_coverage(Subject(made))
    assert (found.verdict, found.summary) == (Standing.FAILED, "the outputs are not those of the reference")


def test_without_gcc_the_chapter_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="gcc is not installed"):
        examine_coverage(Subject(artifact("dense")))


def test_inline_assembly_does_not_run_here():
    found = examine_coverage(Subject(artifact("conv", CompileOptions())))
    assert found.verdict is Standing.NOT_RUN


SOURCES: Mapping[str, bytes] = {"solder_lock.c": b"int lock;", "solder_lock.h": b""}
GAP = RuntimeGap(12, "if (slot.bytes == 0) {", branches=2, taken=1)


@pytest.fixture
def counted(monkeypatch):
    file = RuntimeFile("solder_slot.c", lines=20, run_lines=18, branches=10, taken=9, gaps=(GAP,))
    whole = RuntimeFile("solder_lock.c", lines=9, run_lines=9, branches=6, taken=6, gaps=())
    found = RuntimeCoverage("0.2.0", sha256_of_runtime(SOURCES), "gcov 12", ("tests/rpc",), (file, whole))
    monkeypatch.setattr(coverage, "stored_coverage", lambda: found)


@pytest.mark.usefixtures("counted")
def test_the_counts_of_the_same_runtime_are_shown_with_the_reasons():
    found = runtime_branches(SOURCES)
    assert found.summary == "of the runtime 15 of 16 are taken by the source tree's tests"
    reason = "A board without free memory has firmware without this file."
    assert found.exceptions == (f"runtime, solder_slot.c:12, 1 of 2: {reason}",)
    assert [table.rows for table in found.tables] == [
        [("solder_slot.c", 20, 18, 10, 9), ("solder_lock.c", 9, 9, 6, 6)],
        [("solder_slot.c:12", GAP.text, "1 of 2", reason)],
    ]


@pytest.mark.usefixtures("counted")
def test_another_runtime_has_no_counts():
    found = runtime_branches({**SOURCES, "solder_lock.c": b"int lock = 1;"})
    assert found.exceptions == (
        "the runtime is not the one whose branches were counted, that of Solder 0.2.0",
    )
    assert not found.tables


def test_a_model_without_a_runtime_says_nothing_of_it():
    assert runtime_branches({}).summary == ""


def test_every_stored_gap_has_a_reason(repo_root):
    found = stored_coverage()
    gaps = [(file.name, gap.text) for file in found.files for gap in file.gaps]
    assert [gap for gap in gaps if not reason_in_runtime(*gap)] == []
    assert [each for each in found.tests if not (repo_root / each).exists()] == []
    for file in found.files:
        assert file.taken == file.branches - sum(gap.branches - gap.taken for gap in file.gaps)


def test_gcc_counts_what_holds_the_runtime_and_nothing_else():
    asked = ["-O1", "-fsanitize=address", "-c", "solder_lock.c"]
    assert with_counters(asked, "/counts")[:3] == ["-c", "solder_lock.c", "-O0"]
    assert with_counters(asked, "/counts")[-2:] == ["-dumpdir", "/counts/"]
    assert with_counters(["-O1", "-fsanitize=address", "-c", "kws.c"], "/counts") == ["-O1", "-c", "kws.c"]


def test_branches_are_taken_where_any_build_takes_them():
    line = Line()
    for counts in ([0, 3], [2, 0], [5]):  # the last is of a build with fewer conditions
        line.add(counts)
    assert line.taken == [True, True]
    assert File().run == {}
