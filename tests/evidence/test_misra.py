"""Deviations from MISRA C:2012 are in one list, the same for every model; what is put there is found."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from strict_archives import artifact, changed

import deploy
from aot.errors import MissingToolError
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.coding_standard import (
    DEVIATIONS,
    RUNTIME_DEVIATIONS,
    CertFindings,
    examine_coding_standard,
)
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
        table = found.tables[0]
        assert len(table.rows) > 140
        assert len([each for each in found.exceptions if each.startswith("rule ")]) <= len(DEVIATIONS)
        assert {row[4] for row in table.rows} == {"complied", "not checkable by this tool"}


@pytest.mark.slow
@needs_cppcheck
def test_the_runtime_deviates_from_what_is_listed_alone() -> None:
    digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    found = examine_coding_standard(Subject(deploy.compile(digits, "host", dialect="strict").artifact))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    deviated = {row[0] for row in found.tables[0].rows if str(row[4]).startswith("deviated")}
    assert deviated == {each.rule for each in RUNTIME_DEVIATIONS}


@pytest.mark.slow
@needs_cppcheck
def test_what_is_put_into_the_runtime_is_found() -> None:
    made = artifact("dense")
    text = b"void f(void);\nvoid f(void)\n{\n    goto end;\nend:\n    return;\n}\n"
    found = examine_coding_standard(Subject(replace(made, files={**made.files, "runtime/more.c": text})))
    assert found.verdict is Standing.FAILED
    assert "15.1" in found.summary


@pytest.mark.slow
@needs_cppcheck
def test_cert_c_is_reported_where_it_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(files: object, folder: object) -> CertFindings:
        raise MissingToolError("clang-tidy is not installed")

    monkeypatch.setattr("deploy.proving.coding_standard.check_cert", absent)
    found = examine_coding_standard(Subject(artifact("dense")))
    assert found.exceptions[-1] == "CERT C is not checked: clang-tidy is not installed"
    assert found.exceptions[-2].startswith(
        "of MISRA C:2023, which numbers the rules of MISRA C:2012 as before, the 1"
    )
    assert found.summary.endswith("; CERT C was not checked")
    assert "runtime" not in found.summary


@pytest.mark.slow
@needs_cppcheck
@pytest.mark.skipif(shutil.which("clang-tidy") is None, reason="needs the program clang-tidy")
def test_a_check_of_cert_c_without_a_reason_fails() -> None:
    call = '\n    (void)system("x");\n    return 0;\n'
    made = changed(artifact("dense"), r"\n    return 0;\n", call)
    (path,) = (path for path in made.files if path.endswith("/dense.c"))
    text = b"#include <stdlib.h>\n" + made.files[path]
    found = examine_coding_standard(Subject(replace(made, files={**made.files, path: text})))
    assert found.verdict is Standing.FAILED
    assert "cert-env33-c" in found.summary


@pytest.mark.slow
@needs_cppcheck
def test_a_rule_broken_without_a_reason_fails() -> None:
    made = changed(artifact("dense"), r"\n    return 0;\n", "\n    goto end;\nend:\n    return 0;\n")
    found = examine_coding_standard(Subject(made))
    assert found.verdict is Standing.FAILED
    assert "15.1" in found.summary


def test_each_deviation_stands_once_with_its_category() -> None:
    for listed in (DEVIATIONS, RUNTIME_DEVIATIONS):
        rules = [each.rule for each in listed]
        assert len(set(rules)) == len(rules)
        assert {each.category for each in listed} == {"required", "advisory"}


def test_without_the_tool_the_chapter_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="cppcheck is not installed"):
        examine_coding_standard(Subject(artifact("dense")))
