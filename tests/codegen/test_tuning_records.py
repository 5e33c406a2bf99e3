"""Tuning records and default points change tiles, never results; others are not used."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from tiny_models import residual

import deploy.demo
from aot.errors import InputError
from aot.target import Optimize
from codegen.compile import CompiledModel, compile_job
from codegen.job import read_job
from codegen.kernels import tuning_records
from codegen.kernels.tuning_records import read_records, select
from codegen.options import CompileOptions
from platforms.board_files import load_board

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
SIZE = CompileOptions(optimize=Optimize.SIZE)  # whose rows are of 16 bits: knobs with choices that do not fit
TASK = "conv2d_1x1_8_to_24_by_8 step 8 i16"


def _line(task: str = TASK, core: str = "cortex-m4", cost: int = 90, compiler: str = "", **knobs: int) -> str:
    knobs = {"pixels": 1, "channels": 2, "unroll": 2} | knobs
    facts = {"task": task, "core": core, "knobs": knobs, "cost": cost, "default_cost": 100}
    return json.dumps({**facts, "compiler": compiler})


def _compiled(tmp_path: Path, *lines: str) -> CompiledModel:
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(lines) + "\n")
    target = load_board("mps2-an386").target
    selection = select(read_records(path), target.core, "gcc 12")
    return compile_job(read_job(DIGITS, target, SIZE, selection.points))


def _why(model: CompiledModel) -> str:
    (layer,) = [layer for layer in model.layers if layer.why.endswith(TASK)]
    return layer.why


def test_the_fastest_record_of_the_core_is_used(tmp_path):
    lines = (_line(cost=90), _line(cost=80, pixels=2), _line(core="cortex-m7", cost=1, pixels=3))
    model = _compiled(tmp_path, *lines)
    assert _why(model).startswith(
        "tuned: pixels 2, channels 2, unroll 2, weight_bits 8, blocks 1; 2 x 2 sums per tile"
    )
    assert model.sources["digits.c"] != _compiled(tmp_path).sources["digits.c"]


@pytest.mark.parametrize(
    "line",
    [
        _line(cost=100),
        _line(core="cortex-m7"),
        _line(compiler="gcc 13"),
        _line(task="another"),
        _line(pixels=3, channels=3),
    ],
    ids=["no-gain", "another-core", "another-compiler", "another-task", "more-than-the-registers-hold"],
)
def test_a_record_that_does_not_serve_changes_nothing(line, tmp_path):
    assert _compiled(tmp_path, line).sources == _compiled(tmp_path).sources


def test_a_nest_that_nobody_scheduled_is_compiled_as_the_search_found_it(tmp_path):
    path, target = tmp_path / "residual.tflite", load_board("mps2-an385").target
    path.write_bytes(residual())
    plain = compile_job(read_job(path, target, CompileOptions()))
    (task,) = [layer.why.partition("task ")[2] for layer in plain.layers if layer.op == "add"]
    tuned = compile_job(read_job(path, target, CompileOptions(), {task: {"column": 2, "c": 2, "order": 2}}))
    (why,) = [layer.why for layer in tuned.layers if layer.op == "add"]
    assert why.startswith("tuned: column 2, c 2, order 2; ")
    assert tuned.sources["residual.c"] != plain.sources["residual.c"]


@pytest.mark.parametrize("line", ["{", '{"task": "x"}', _line(pixels=0), "[]"])
def test_a_line_that_is_not_a_record_is_named(line, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(f"{_line()}\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert str(caught.value).startswith(f"error: this is not a tuning record\n  {path}, line 2\n")


TARGET = load_board("mps2-an386").target
POINT = {"pixels": 1, "channels": 1, "unroll": 1, "weight_bits": 8, "blocks": 1}


def _changes(path: Path, monkeypatch: pytest.MonkeyPatch, core: str, goal: Optimize = Optimize.SPEED) -> bool:
    """Whether a table of that core changes the C of a model with convolutions."""
    path.write_bytes(residual())
    options = replace(CompileOptions(), optimize=goal)
    plain = compile_job(read_job(path, TARGET, options))
    task, *_ = [layer.why.partition("task ")[2] for layer in plain.layers if layer.op == "conv2d"]
    monkeypatch.setattr(tuning_records, "_table", lambda asked: {task: POINT} if asked == core else {})
    return compile_job(read_job(path, TARGET, options)).sources != plain.sources


def test_a_point_of_the_core_is_what_is_compiled(tmp_path, monkeypatch):
    assert _changes(tmp_path / "residual.tflite", monkeypatch, TARGET.core)


@pytest.mark.parametrize(
    ("core", "goal"),
    [("cortex-m7", Optimize.SPEED), (TARGET.core, Optimize.SIZE), (TARGET.core, Optimize.RAM)],
)
def test_another_core_or_goal_keeps_to_the_rules(core, goal, tmp_path, monkeypatch):
    assert not _changes(tmp_path / "residual.tflite", monkeypatch, core, goal)


def test_the_tables_hold_points_and_no_wide_weights():
    tables = [file for file in files(tuning_records.TABLES).iterdir() if file.name.endswith(".json")]
    points = [point for file in tables for point in json.loads(file.read_text()).values()]
    assert points
    assert all(isinstance(value, int) and value >= 1 for point in points for value in point.values())
    assert all(point.get("weight_bits", 8) == 8 for point in points)
