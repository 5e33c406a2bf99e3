"""Static checks of generated C by Frama-C's EVA and for MISRA C:2012; planted mistakes are found."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from strict_archives import artifact, changed

import deploy
from aot.errors import MissingToolError
from artifact.artifact import Artifact
from boards.cores import load_core
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.coding_standard import (
    DEVIATIONS,
    RUNTIME_DEVIATIONS,
    CertFindings,
    examine_coding_standard,
)
from deploy.proving.lone_program import obstacle
from deploy.proving.subject import Subject
from deploy.proving.undefined_behaviour import (
    analyse,
    annotated,
    examine_undefined_behaviour,
    without_annotations,
)

FRAMA_C_MISSING = "needs the program frama-c: 870 MB that no other test needs, so CI does not install it"


@pytest.fixture
def analysed(tmp_path, require_tool):
    if shutil.which("frama-c") is None:
        pytest.skip(FRAMA_C_MISSING)
    require_tool("gcc")
    return lambda made: analyse(made, tmp_path)


@pytest.mark.cc
def test_a_network_has_no_undefined_behaviour(analysed):
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
def test_what_is_put_there_is_found(pattern, by, says, analysed):
    found = analysed(changed(artifact("dense"), pattern, by))
    assert any(alarm.message.startswith(says) for alarm in found.open)


def test_annotations_are_all_that_is_added():
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
def test_what_it_cannot_follow_is_said(made, says):
    assert obstacle(made()) == says


def changed_target(made: Artifact) -> Artifact:
    return replace(made, facts=replace(made.facts, target=load_core("avr").target()))


def test_without_frama_c_the_chapter_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="frama-c is not installed"):
        examine_undefined_behaviour(Subject(artifact("dense")))


def test_inline_assembly_is_not_run_and_says_why():
    found = examine_undefined_behaviour(Subject(artifact("conv", CompileOptions())))
    assert (found.verdict, found.summary) == (
        Standing.NOT_RUN,
        "its C has instructions of a core: compile it with --dialect strict",
    )


needs_cppcheck = pytest.mark.skipif(
    shutil.which("cppcheck") is None, reason="needs the program cppcheck, which CI does not install"
)


@pytest.mark.slow
@needs_cppcheck
def test_generated_c_deviates_from_what_is_listed_alone():
    for options in (CompileOptions(), None):
        found = examine_coding_standard(Subject(artifact("classifier", options)))
        assert found.verdict is Standing.EXCEPTIONS, found.summary
        table = found.tables[0]
        assert len(table.rows) > 140
        assert len([each for each in found.exceptions if each.startswith("rule ")]) <= len(DEVIATIONS)
        assert {row[4] for row in table.rows} == {"complied", "not checkable by this tool"}


@pytest.mark.slow
@needs_cppcheck
def test_the_runtime_deviates_from_what_is_listed_alone():
    digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    found = examine_coding_standard(Subject(deploy.compile(digits, "host", dialect="strict").artifact))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    deviated = {row[0] for row in found.tables[0].rows if str(row[4]).startswith("deviated")}
    assert deviated == {each.rule for each in RUNTIME_DEVIATIONS}


@pytest.mark.slow
@needs_cppcheck
def test_what_is_put_into_the_runtime_is_found():
    made = artifact("dense")
    text = b"void f(void);\nvoid f(void)\n{\n    goto end;\nend:\n    return;\n}\n"
    found = examine_coding_standard(Subject(replace(made, files={**made.files, "runtime/more.c": text})))
    assert found.verdict is Standing.FAILED
    assert "15.1" in found.summary


@pytest.mark.slow
@needs_cppcheck
def test_cert_c_is_reported_where_it_was_not_checked(monkeypatch):
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
def test_a_check_of_cert_c_without_a_reason_fails():
    call = '\n    (void)system("x");\n    return 0;\n'
    made = changed(artifact("dense"), r"\n    return \w+_OK;\n", call)
    (path,) = (path for path in made.files if path.endswith("/dense.c"))
    text = b"#include <stdlib.h>\n" + made.files[path]
    found = examine_coding_standard(Subject(replace(made, files={**made.files, path: text})))
    assert found.verdict is Standing.FAILED
    assert "cert-env33-c" in found.summary


@pytest.mark.slow
@needs_cppcheck
def test_a_rule_broken_without_a_reason_fails():
    made = changed(artifact("dense"), r"\n    return \w+_OK;\n", "\n    goto end;\nend:\n    return 0;\n")
    found = examine_coding_standard(Subject(made))
    assert found.verdict is Standing.FAILED
    assert "15.1" in found.summary


def test_each_deviation_stands_once_with_its_category():
    for listed in (DEVIATIONS, RUNTIME_DEVIATIONS):
        rules = [each.rule for each in listed]
        assert len(set(rules)) == len(rules)
        assert {each.category for each in listed} == {"required", "advisory"}


def test_without_cppcheck_the_chapter_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="cppcheck is not installed"):
        examine_coding_standard(Subject(artifact("dense")))
