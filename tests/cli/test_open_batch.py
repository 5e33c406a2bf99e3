"""A batch that a file leaves open is 1, which the pages say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

Run = Callable[..., Any]
TOLD = 'the file leaves the batch of "x" open: 1 is used (--shape sets all sizes)'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    shape = ["batch", 8]
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_compile_and_inspect_say_it(file: Path, tmp_path: Path, run_deploy: Run) -> None:
    compiled = run_deploy("compile", file, "--board", "host", "-o", tmp_path / "net.tar")
    assert compiled.status == 0, compiled.err
    assert TOLD in compiled.out
    inspected = run_deploy("inspect", file)
    assert TOLD in " ".join(inspected.out.split())
    assert "float32[1, 8]" in inspected.out


def test_a_shape_that_is_given_is_not_news(file: Path, run_deploy: Run) -> None:
    inspected = run_deploy("inspect", file, "--shape", "x=3,8")
    assert "batch" not in inspected.out
    assert "float32[3, 8]" in inspected.out


@pytest.mark.cc
def test_a_series_of_samples_runs(file: Path, run_deploy: Run) -> None:
    outcome = run_deploy("verify", file, "--board", "host", "--fill", "random")
    assert outcome.status == 0, outcome.err
