"""deploy tune on an emulated board: trials become records, records a faster model of the same bits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import residual

import deploy
import deploy.demo
from codegen.job import read_job
from codegen.kernels.knobs import Point, point_text
from codegen.kernels.tuning_records import read_records
from codegen.options import CompileOptions
from deploy.cli.console import table
from deploy.tuner.tune_model import TuneChoices, begin
from deploy.tuner.tuning_table import narrow_rows
from platforms.board_files import load_board
from platforms.tuning.tasks import Task

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"
DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
M4 = ("--board", "mps2-an386")


@pytest.mark.arm
def test_tasks_are_listed_without_a_board_at_hand(run_deploy):
    """The compiler is asked for its version: records are of one compiler."""
    outcome = run_deploy("tune", DIGITS, *M4, "--list", "--json")
    facts = json.loads(outcome.out)
    assert [task["number"] for task in facts["tasks"]] == list(range(1, len(facts["tasks"]) + 1))
    assert all(task["points"] > 1 and task["tried"] == 0 for task in facts["tasks"])


@pytest.mark.arm
def test_what_takes_more_flash_for_constants_is_left_out_on_request():
    board = load_board("mps2-an386")
    job = read_job(DIGITS, board.target, CompileOptions(), board=board.name)
    free, kept = (begin(job, board, TuneChoices(keep_constants=each), ()) for each in (False, True))
    larger = 0
    for of_all, of_kept in zip(free.searches, kept.searches, strict=True):
        task = of_kept.task
        most = _constants_bytes(task, task.space.default)
        assert all(_constants_bytes(task, point) <= most for point in task.space.points)
        assert set(map(point_text, task.space.points)) <= set(map(point_text, of_all.task.space.points))
        larger += sum(_constants_bytes(of_all.task, point) > most for point in of_all.task.space.points)
    assert larger  # else nothing was left out


def _constants_bytes(task: Task, point: Point) -> int:
    return sum(array.nbytes for array in task.kernel(point).constants.values())


@pytest.mark.arm
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "tune needs a file for the records"),
        (("--list", "--tasks", "99"), "there is no task 99"),
        (("--list", "--tasks", "1-x"), 'tasks "1-x" is not a list like 1,3-5'),
    ],
)
def test_wrong_words_are_refused(words, says, run_deploy):
    outcome = run_deploy("tune", DIGITS, *M4, *words)
    assert outcome.status == 1
    assert says in outcome.err


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_run_is_taken_up_again_and_the_best_is_compiled(run_deploy, tmp_path):
    path = tmp_path / "digits.jsonl"
    words = ("tune", DIGITS, *M4, "-o", path, "--tuner", "ga", "--json")
    for trials, place in ((10, "ram"), (20, "image")):
        outcome = run_deploy(*words, "--trials", trials, "--candidates-in", place)
        assert outcome.status == 0
    records = read_records(path)
    assert len({record.key for record in records}) == len(records) == 30
    assert not [record.error for record in records if record.error]
    assert all(record.default_cost for record in records)
    compiled = run_deploy("compile", DIGITS, *M4, "-o", tmp_path / "a.tar", "--tuning-records", path)
    assert "tuned" in compiled.out
    facts = json.loads(outcome.out)
    assert f"constants {facts['tuned_constants_bytes']:>10,} bytes" in compiled.out
    assert facts["constants_bytes"] == 4_762
    verified = run_deploy("verify", DIGITS, *M4, "--tuning-records", path)
    assert "outputs equal to the reference in every bit" in verified.out


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_convolution_that_also_makes_a_sum_is_measured_on_both_of_its_inputs(own_folders, tmp_path):
    model, records = tmp_path / "residual.tflite", tmp_path / "r.jsonl"
    model.write_bytes(residual())
    tuning = deploy.tune(model, "mps2-an386", records, trials=24, tuner="random")
    summing = [p for p in tuning.searches if len(p.task.stage.values) == 2]
    assert [p.tried > 0 for p in summing] == [True]
    assert [record.error for record in read_records(records)] == [""] * 24


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_python_tunes_as_the_page_says(own_folders, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kws.tflite").write_bytes(DIGITS.read_bytes())
    code = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    assert len([line for line in code.splitlines() if line]) <= 5
    found: dict[str, Any] = {}
    exec(code, found)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 40 + 1
    assert found["tuning"].speedup >= 1
    inputs = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    outputs = deploy.run(found["compiled"], inputs).outputs.values()
    expected = deploy.load(DIGITS).run([inputs]).values()
    assert all(np.array_equal(a, b) for a, b in zip(outputs, expected, strict=True))


@pytest.mark.cc
@pytest.mark.slow
def test_where_memory_cannot_be_executed_candidates_go_into_an_image(run_deploy, tmp_path):
    words = (
        "tune",
        DIGITS,
        "--board",
        "host",
        "-o",
        tmp_path / "r.jsonl",
        "--candidates-in",
        "ram",
        "--trials",
        12,
    )
    assert run_deploy(*words).status == 0
    assert [record.error for record in read_records(tmp_path / "r.jsonl")] == [""] * 12


@pytest.mark.arm
def test_an_interrupted_search_says_what_it_found_and_how_to_go_on(run_deploy, tmp_path, monkeypatch):

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deploy.tuner.tune_model.search", interrupted)
    path = tmp_path / "digits.jsonl"
    outcome = run_deploy("tune", DIGITS, *M4, "-o", path)
    assert outcome.status == 130
    assert "conv2d" in outcome.out
    assert outcome.err == (
        f"0 trials in {path}; repeat the command to continue, or use the best so far with --tuning-records "
        f"{path}\ninterrupted\n"
    )


@pytest.mark.arm
def test_the_live_table_fits_a_small_terminal(shared_dir, monkeypatch):
    board = load_board("mps2-an386")
    path = shared_dir / "models" / "tiny_vww_mbv1_int8" / "model.tflite"
    tuning = begin(read_job(path, board.target, CompileOptions()), board, TuneChoices(), ())
    text = table([""] * 8, narrow_rows(tuning.searches, 12))
    assert len(tuning.searches) > 12
    assert len(text.splitlines()) == 13
    assert max(map(len, text.splitlines())) < 80
