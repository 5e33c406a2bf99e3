"""Hundreds of one-operator cases of others, as C on this computer: none is wrong, few are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from suite_cases import is_right, suite_cases
from suite_run import REFUSED, RIGHT, WRONG, counts_of, run_suite

from deploy.op_facts import suite_counts

REFUSED_AT_MOST = 13


@pytest.mark.cc
@pytest.mark.slow
def test_no_case_is_wrong_and_few_are_refused(
    shared_dir: Path, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("gcc")
    outcomes = run_suite(suite_cases(shared_dir), tmp_path)
    assert [(o.case.name, o.mode, o.why) for o in outcomes if o.verdict == WRONG] == []
    assert len([o for o in outcomes if o.verdict == REFUSED]) <= REFUSED_AT_MOST
    counts = counts_of(outcomes)
    fewer = {op: stored for op, stored in suite_counts().items() if counts[op][RIGHT] < stored[RIGHT]}
    assert not fewer, "deploy ops promises more"


@pytest.mark.parametrize(
    ("made", "wanted", "right"),
    [
        (np.int8([1, 2]), np.int8([1, 2]), True),
        (np.int8([1, 3]), np.int8([1, 2]), False),
        (np.int16([1, 2]), np.int8([1, 2]), False),
        (np.int8([1]), np.int8([1, 1]), False),
        (np.float32([100, 1e-4]), np.float32([100, 0]), True),
        (np.float32([100, 1e-2]), np.float32([100, 0]), False),
        (np.float32([np.inf, np.nan]), np.float32([np.inf, np.nan]), True),
        (np.float32([np.nan]), np.float32([1]), False),
    ],
)
def test_integers_are_right_in_every_bit_and_reals_near_the_largest(
    made: np.ndarray, wanted: np.ndarray, right: bool
) -> None:
    assert is_right(made, wanted) is right
