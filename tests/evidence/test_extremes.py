"""Runs at the ends of what inputs can be: nothing overflows but what is written as a wrap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from extremes_run import artifact_of_file
from strict_archives import artifact, changed

from aot.errors import MissingToolError
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.extremes import examine_extremes, reason_of
from deploy.proving.subject import Subject


@pytest.mark.cc
@pytest.mark.parametrize("name", ["classifier", "residual"])
def test_small_networks_overflow_nowhere(name: str, require_tool: Callable[..., None]) -> None:
    require_tool("clang")
    found = examine_extremes(Subject(artifact(name)))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    assert found.summary.startswith("7 inputs, nothing undefined and no wrap that is not written as such")
    inputs, reports = found.tables
    assert ("the greatest sum of the first layer",) in inputs.rows
    assert all(row[-1] != "none" for row in reports.rows)


@pytest.mark.cc
@pytest.mark.slow
def test_sums_of_16_bits_that_wrap_are_written_so(
    shared_dir: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("clang")
    made = artifact_of_file(shared_dir / "models" / "tflm_kw_scrambled_16x8", "tflm")
    found = examine_extremes(Subject(made))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    (wrap,) = (row for row in found.tables[1].rows if str(row[3]).startswith("unsigned integer overflow"))
    assert wrap[2] == "return (int32_t)((uint32_t)a + (uint32_t)b);"


@pytest.mark.cc
@pytest.mark.parametrize(
    ("pattern", "by", "says"),
    [
        (r"(sum\d?) \+= x\[", r"\1 += 3000000 * x[", "signed integer overflow"),
        (r"\n    return 0;\n", "\n    static unsigned none;\n    none = none - 1u;\n    return 0;\n",
         "unsigned integer overflow: 0 - 1"),
        (r"\n    return 0;\n", "\n    static volatile int8_t v = 100;\n    v = v * 2;\n    return 0;\n",
         "implicit conversion from type 'int' of value 200"),
    ],
)  # fmt: skip
def test_what_is_put_there_is_found(
    pattern: str, by: str, says: str, require_tool: Callable[..., None]
) -> None:
    require_tool("clang")
    found = examine_extremes(Subject(changed(artifact("dense"), pattern, by)))
    assert found.verdict is Standing.FAILED
    assert says in found.summary


@pytest.mark.cc
def test_outputs_that_differ_fail(require_tool: Callable[..., None]) -> None:
    require_tool("clang")
    found = examine_extremes(Subject(changed(artifact("dense"), r"(sum\d?) \+= x\[", r"\1 -= x[")))
    assert (found.verdict, found.summary) == (Standing.FAILED, "the outputs are not those of the reference")


def test_without_clang_the_chapter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        MissingToolError, match="clang is not installed, and the checks of integers are its alone"
    ):
        examine_extremes(Subject(artifact("dense")))


def test_inline_assembly_does_not_run_here() -> None:
    assert examine_extremes(Subject(artifact("conv", CompileOptions()))).verdict is Standing.NOT_RUN


def test_a_wrap_has_to_be_written_as_such() -> None:
    wraps = "unsigned integer overflow: 1 + 4294967295 cannot be represented in type 'unsigned int'"
    assert reason_of(wraps, "return (int32_t)((uint32_t)a + (uint32_t)b);")
    assert not reason_of(wraps, "row = row + step;")
    assert not reason_of("signed integer overflow: 1", "return (int32_t)((uint32_t)a + b);")
