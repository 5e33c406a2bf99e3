"""Outputs with a count beside them: what inspect says of it, how a run gives it, that runtimes agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chosen_boxes import LISTED, file_of

Run = Callable[..., Any]


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    (path := tmp_path / "chosen.onnx").write_bytes(file_of(LISTED, 1, 2, 8))
    return path


def test_inspect_says_what_the_count_means(detector: Path, run_deploy: Run) -> None:
    outcome = run_deploy("inspect", detector)
    assert outcome.status == 0, outcome.err
    assert (
        '  count      "chosen_count" is the number of boxes that "nms" chooses, at most 6: later rows are 0'
        in outcome.out.splitlines()
    )


@pytest.mark.cc
@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_onnx_runtime_has_the_same_rows(
    board: str, detector: Path, run_deploy: Run, require_package: Run, require_tool: Run
) -> None:
    require_package("onnxruntime")
    if board != "host":
        require_tool("arm-none-eabi-gcc")
        require_package("unicorn")
    outcome = run_deploy("verify", detector, "--board", board, "--oracle", "ort", "--rounding", "onnx")
    assert outcome.status == 0, outcome.err
    assert "returns the same outputs" in outcome.out


@pytest.mark.cc
def test_a_run_gives_rows_and_their_count(detector: Path, tmp_path: Path, run_deploy: Run) -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [5, 5, 6, 6], *[[9, 9, 9, 9]] * 5]], np.float32)
    scores = np.zeros((1, 2, 8), np.float32)
    scores[0, 1, :3] = 0.6, 0.9, 0.7
    np.savez(given := tmp_path / "given.npz", boxes=boxes, scores=scores)
    outcome = run_deploy(
        "run", detector, "--board", "host", "--inputs", given, "--output", tmp_path / "made.npz"
    )
    assert outcome.status == 0, outcome.err
    made = np.load(tmp_path / "made.npz")
    assert made["output_1"].reshape(-1).tolist() == [2]
    wanted = np.zeros((6, 6), np.float32)
    wanted[:2] = [[0, 0, 0.5, 0.45, 1, 0.9], [2.5, 2.5, 3, 3, 1, 0.7]]
    np.testing.assert_array_equal(made["output_0"].reshape(6, 6), wanted)
