"""A model with more inputs than a word has bits runs on a device: each must have been written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdq_builder import QdqBuilder

INPUTS = 40


@pytest.mark.cc
def test_forty_inputs_are_summed(
    tmp_path: Path, run_deploy: Callable[..., Any], require_tool: Callable[..., None]
) -> None:
    require_tool("gcc")
    build = QdqBuilder("many")
    names = [build.real_input(f"x{number}", (1, 4)) for number in range(INPUTS)]
    (tmp_path / "many.onnx").write_bytes(build.finish(build.node("Sum", *names)))
    arrays = {name: np.full((1, 4), 2.0**number, np.float32) for number, name in enumerate(names)}
    np.savez(tmp_path / "x.npz", **arrays)  # type: ignore[arg-type]
    out = tmp_path / "out.npz"
    words = (
        "run",
        tmp_path / "many.onnx",
        "--board",
        "host",
        "--inputs",
        tmp_path / "x.npz",
        "--output",
        out,
    )
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    wanted = np.float32(0)
    for array in arrays.values():
        wanted = wanted + array
    np.testing.assert_array_equal(next(iter(np.load(out).values())), wanted)
