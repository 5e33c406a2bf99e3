"""ONNX graphs drawn at random, on inputs that are not centred, are as exact as in ONNX Runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from graph_run import REFUSED, RIGHT, UNKNOWN, WRONG, run_graphs

GRAPHS = 80  # make fuzz-graphs runs 5,000


@pytest.mark.cc
@pytest.mark.slow
def test_no_graph_gives_other_numbers_than_onnx_runtime(
    tmp_path: Path, require_tool: Callable[..., None], require_package: Callable[..., None]
) -> None:
    require_tool("gcc")
    require_package("onnxruntime")
    outcomes = run_graphs(range(GRAPHS), tmp_path)
    assert [str(outcome) for outcome in outcomes if outcome.verdict in (WRONG, REFUSED)] == []
    counts = Counter(outcome.verdict for outcome in outcomes)
    assert counts[RIGHT] + counts[UNKNOWN] == GRAPHS
    assert counts[RIGHT] > 0.9 * GRAPHS
