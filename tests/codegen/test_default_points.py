"""The tables of default points: they begin a kernel's space, for the goal speed and on their core only."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from tiny_models import residual

from aot.target import Optimize
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.kernels import default_points
from codegen.options import CompileOptions
from platforms.board_files import load_board

TARGET = load_board("mps2-an386").target
POINT = {"pixels": 1, "channels": 1, "unroll": 1, "weight_bits": 8, "blocks": 1}


def _changes(path: Path, monkeypatch: pytest.MonkeyPatch, core: str, goal: Optimize = Optimize.SPEED) -> bool:
    """Whether a table of that core changes the C of a model with convolutions."""
    path.write_bytes(residual())
    options = replace(CompileOptions(), optimize=goal)
    plain = compile_job(read_job(path, TARGET, options))
    task, *_ = [layer.why.partition("task ")[2] for layer in plain.layers if layer.op == "conv2d"]
    monkeypatch.setattr(default_points, "_table", lambda asked: {task: POINT} if asked == core else {})
    return compile_job(read_job(path, TARGET, options)).sources != plain.sources


def test_a_point_of_the_core_is_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _changes(tmp_path / "residual.tflite", monkeypatch, TARGET.core)


@pytest.mark.parametrize(
    ("core", "goal"),
    [("cortex-m7", Optimize.SPEED), (TARGET.core, Optimize.SIZE), (TARGET.core, Optimize.RAM)],
)
def test_another_core_or_goal_keeps_to_the_rules(
    core: str, goal: Optimize, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not _changes(tmp_path / "residual.tflite", monkeypatch, core, goal)


def test_the_tables_hold_points_and_no_wide_weights() -> None:
    tables = [file for file in files(default_points.TABLES).iterdir() if file.name.endswith(".json")]
    points = [point for file in tables for point in json.loads(file.read_text()).values()]
    assert points
    assert all(isinstance(value, int) and value >= 1 for point in points for value in point.values())
    assert all(point.get("weight_bits", 8) == 8 for point in points)
