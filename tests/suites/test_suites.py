"""Hundreds of one-operator cases of others, as C on this computer: none is wrong, few are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from suite_cases import is_right, suite_cases
from suite_run import REFUSED, RIGHT, WRONG, CompiledCase, Outcome, compile_suite, counts_of, run_jobs

from deploy.inspection.op_facts import suite_counts

REFUSED_AT_MOST = 13
COMPILERS = (
    ("gcc", "-Os"),
    ("clang", "-Os"),
    ("zig", "-O2"),
)  # the other levels: tests/whole/test_compilers.py


@pytest.fixture(scope="module")
def compiled(shared_dir: Path) -> tuple[Sequence[CompiledCase], Sequence[Outcome]]:
    return compile_suite(suite_cases(shared_dir))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "level"), COMPILERS)
def test_no_case_is_wrong_and_few_are_refused(
    compiler: str,
    level: str,
    compiled: tuple[Sequence[CompiledCase], Sequence[Outcome]],
    tmp_path: Path,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> None:
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
def test_integers_are_right_in_every_bit_and_reals_near_the_largest(
    made: np.ndarray, wanted: np.ndarray, right: bool
) -> None:
    assert is_right(made, wanted) is right
