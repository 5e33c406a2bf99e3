"""Node tests of ONNX as C on this computer: none is wrong, and those refused say why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from node_cases import node_cases
from node_run import RIGHT, WRONG, run_cases

EVERY = 8  # node_run.py runs all; they take minutes
LARGE = ("linear_attention", "_3d", "gru_bidirectional")  # a minute each
LEAST_RIGHT = 0.85


@pytest.mark.cc
@pytest.mark.slow
def test_no_node_test_is_wrong_and_most_are_right(
    tmp_path: Path, require_tool: Callable[..., None], require_package: Callable[..., None]
) -> None:
    require_tool("gcc")
    require_package("onnx")
    small = [case for case in node_cases() if not any(word in case.name for word in LARGE)]
    outcomes = run_cases(small[::EVERY], tmp_path)
    assert [(o.case.name, o.why) for o in outcomes if o.verdict == WRONG] == []
    assert len([o for o in outcomes if o.verdict == RIGHT]) >= LEAST_RIGHT * len(outcomes)
