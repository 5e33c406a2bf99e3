"""Public one-operator cases as C on this computer: none is wrong; a crash is an exception."""

import math
import os

import numpy as np
import pytest
from apart import Apart, CrashedError
from op_sources import Sources, onnx_sources, tflite_sources
from suite_cases import is_right, suite_cases
from suite_run import REFUSED, RIGHT, WRONG, compile_suite, counts_of, run_jobs

from aot.ops import OPS
from deploy.inspection.op_facts import op_sources, suite_counts

REFUSED_AT_MOST = 13
COMPILERS = (
    ("gcc", "-Os"),
    ("clang", "-Os"),
    ("zig", "-O2"),
)  # the other levels: tests/whole/test_compilers.py


@pytest.fixture(scope="module")
def compiled(shared_dir):
    return compile_suite(suite_cases(shared_dir))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "level"), COMPILERS)
def test_no_case_is_wrong_and_few_are_refused(
    compiler, level, compiled, tmp_path, require_tool, require_package
):
    if compiler == "zig":
        require_package("ziglang")
    else:
        require_tool(compiler)
    jobs, refused = compiled
    outcomes = [*refused, *run_jobs(jobs, tmp_path, compiler, level)]
    assert [(o.case.name, o.mode, o.why) for o in outcomes if o.verdict == WRONG] == []
    assert len([o for o in outcomes if o.verdict == REFUSED]) <= REFUSED_AT_MOST
    counts = counts_of(outcomes)
    fewer = {op: stored for op, stored in suite_counts().items() if counts[op][RIGHT] < stored[RIGHT]}
    assert not fewer, "deploy ops promises more"


@pytest.mark.parametrize(
    ("made", "wanted", "right"),
    [
        (np.array([1, 2], np.int8), np.array([1, 2], np.int8), True),
        (np.array([1, 3], np.int8), np.array([1, 2], np.int8), False),
        (np.array([1, 2], np.int16), np.array([1, 2], np.int8), False),
        (np.array([1], np.int8), np.array([1, 1], np.int8), False),
        (np.array([100, 1e-4], np.float32), np.array([100, 0], np.float32), True),
        (np.array([100, 1e-2], np.float32), np.array([100, 0], np.float32), False),
        (np.array([np.inf, np.nan], np.float32), np.array([np.inf, np.nan], np.float32), True),
        (np.array([np.nan], np.float32), np.array([1], np.float32), False),
    ],
)
def test_integers_are_right_in_every_bit_and_reals_near_the_largest(made, wanted, right):
    assert is_right(made, wanted) is right


def test_what_is_called_gives_its_result_or_its_error():
    with Apart() as apart:
        assert apart.call(math.sqrt, 4.0) == 2.0
        with pytest.raises(ValueError, match="math domain error"):
            apart.call(math.sqrt, -1.0)


def test_a_crash_is_reported_and_ends_nothing():
    with Apart() as apart:
        with pytest.raises(CrashedError, match="abort has crashed"):
            apart.call(os.abort)
        assert apart.call(os.getpid) != os.getpid()


def test_sources_are_of_ops_that_are_there():
    assert list(op_sources()) == ["tflite", "onnx"]
    assert set().union(*op_sources().values()) <= set(OPS)


@pytest.mark.slow
def test_tflite_operators_become_what_is_stored(shared_dir):
    assert _promised("tflite", tflite_sources(shared_dir)) == []


@pytest.mark.slow
def test_onnx_operators_become_what_is_stored(shared_dir, require_package):
    require_package("onnx")
    assert _promised("onnx", onnx_sources(shared_dir)) == []


def _promised(format_name: str, found: Sources) -> list[str]:
    """Ops that come from other operators than is stored, or in other numbers of cases."""
    stored = op_sources()[format_name]
    return [f"{op}: {stored.get(op)}, now {made}" for op, made in found.items() if stored.get(op) != made]
