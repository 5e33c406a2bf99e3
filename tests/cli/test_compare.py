"""What counts as the same: integers in every bit, floats near the largest one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from deploy.verification.compare_layers import differences

SLOTS: Any = cast(Any, (SimpleNamespace(name="y"),))


@pytest.mark.parametrize(
    ("expected", "found", "differing"),
    [
        (np.array([3, -4], np.int8), np.array([3, -4], np.int8), 0),
        (np.array([3, -4], np.int8), np.array([3, -5], np.int8), 1),
        (np.array([3, -4], np.int8), np.array([3, -4], np.int16), 1),
        (np.array([100.0, 1.0], np.float32), np.array([100.0009, 0.9991], np.float32), 0),
        (np.array([100.0, 1.0], np.float32), np.array([100.0, 1.0011], np.float32), 1),
        (np.array([0.0], np.float32), np.array([1e-30], np.float32), 1),
    ],
)
def test_outputs_differ_where_they_may_not(expected: Any, found: Any, differing: int) -> None:
    assert len(differences([(expected,)], [(found,)], SLOTS)) == differing
