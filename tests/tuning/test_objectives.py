"""What a tuning search minimizes, where it begins, and which records then count."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from error_facts import refused, require_facts

import deploy.demo
from aot.errors import InputError
from aot.target import Optimize
from codegen.job import read_job
from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import TuningRecord, select
from codegen.options import CompileOptions
from deploy.tuner.objectives import cost_unit_for
from deploy.tuner.tune_model import TuneChoices, begin
from platforms.board_files import load_board

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
EMULATED, REAL = load_board("mps2-an386"), load_board("nucleo-l4r5zi")
RECORD = TuningRecord("conv", "cortex-m4", {"unroll": 2}, 90, 100, unit="instructions")


def test_the_boards_own_counter_is_the_objective_where_none_is_given():
    assert [cost_unit_for(board, None).name for board in (EMULATED, REAL)] == ["instructions", "cycles"]
    assert cost_unit_for(REAL, "cycles").bench is None, "a real board measures them"
    assert cost_unit_for(EMULATED, "instructions").bench is None


def test_an_objective_that_nothing_tells_is_refused(monkeypatch):
    with pytest.raises(InputError) as caught:
        cost_unit_for(REAL, "instructions")
    require_facts(caught.value, "nucleo-l4r5zi counts cycles instructions --objective")
    refused(
        lambda: cost_unit_for(load_board("qemu-riscv32"), "cycles"),
        "qemu-riscv32 rv32imac cycles known there --objective",
        InputError,
    )
    monkeypatch.setattr("platforms.cycles.model.find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"not known: needs the Python packages unicorn and capstone"):
        cost_unit_for(EMULATED, "cycles")


def test_records_of_several_units_are_not_compared():
    quick = replace(RECORD, knobs={"unroll": 8}, cost=900, default_cost=1000, unit="cycles")
    short = replace(RECORD, knobs={"unroll": 1}, cost=10, default_cost=40, unit="bytes")
    timed = replace(RECORD, knobs={"unroll": 4}, cost=1, default_cost=4, unit="ticks")
    every = [short, RECORD, timed, quick]
    chosen = {goal: select(every, "cortex-m4", goal=goal).points["conv"]["unroll"] for goal in Optimize}
    assert chosen == {Optimize.SPEED: 8, Optimize.RAM: 8, Optimize.SIZE: 1}
    assert select(every[:3], "cortex-m4").points["conv"] == {"unroll": 2}
    assert select([short], "cortex-m4").points["conv"] == {"unroll": 1}, (
        "a file with no other says what is wanted"
    )
    assert len({record.key for record in (RECORD, replace(RECORD, unit="cycles"))}) == 2


@pytest.mark.arm
@pytest.mark.slow
def test_a_search_goes_on_with_records_of_its_own_objective_only(
    tmp_path, run_deploy, require_tool, require_package
):
    """Cycles are more than instructions; each unrolled loop takes more bytes than the loop that is not."""
    require_tool("qemu-system-arm")
    require_package("unicorn", "capstone")
    records = tmp_path / "records.jsonl"
    words = ("tune", DIGITS, "--board", "mps2-an386", "--tasks", "1", "--tuner", "grid", "--trials", "6")
    tasks = {}
    for objective in ("cycles", "instructions", "size"):
        told = json.loads(run_deploy(*words, "-o", records, "--objective", objective, "--json").out)
        (tasks[told["unit"]],) = told["tasks"]
    found = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert [each["unit"] for each in found] == ["cycles"] * 6 + ["instructions"] * 6 + ["bytes"] * 6
    cost = {(each["unit"], json.dumps(each["knobs"])): each["cost"] for each in found}
    for _, knobs in [key for key in cost if key[0] == "cycles"]:
        assert 1 < cost["cycles", knobs] / cost["instructions", knobs] < 2
    shortest = [each for each in found if each["unit"] == "bytes" and each["knobs"]["unroll"] == 1]
    assert tasks["bytes"]["best_cost"] == min(each["cost"] for each in shortest)
    assert tasks["bytes"]["best_cost"] < tasks["bytes"]["default_cost"]


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize(
    "word", [("--candidates-in", "ram"), ("--farm", "tcp://127.0.0.1:1"), ("--runner", "attach")]
)
def test_what_is_computed_here_is_not_timed_elsewhere(word, tmp_path, run_deploy):
    words = (
        "tune",
        DIGITS,
        "--board",
        "mps2-an386",
        "-o",
        tmp_path / "r.jsonl",
        "--objective",
        "size",
        *word,
    )
    outcome = run_deploy(*words)
    where = word[0] if word[0] == "--farm" else " ".join(word)
    require_facts(outcome.err, f"{where} times candidates board {where} --objective")


def test_bytes_count_once_however_often_a_kernel_runs(require_tool):
    require_tool("arm-none-eabi-gcc")
    job = read_job(DIGITS, EMULATED.target, CompileOptions())
    costs = {}
    for objective in ("size", "instructions"):
        first = begin(job, EMULATED, TuneChoices(objective=objective), ()).searches[0]
        first.best_cost = 100
        costs[objective] = first.cost_in_model
    assert costs["size"] == 100 < costs["instructions"]


SIZE = CompileOptions(optimize=Optimize.SIZE)  # rows of 16 bits: a space in which chance finds little
BEST = {"pixels": 1, "channels": 4, "unroll": 2, "weight_bits": 16, "blocks": 1}
SECOND = BEST | {"channels": 2}
IMPOSSIBLE = BEST | {"pixels": 3, "channels": 6}
SLOWER = BEST | {"channels": 1}


def _record(task: str, knobs: Point, cost: int) -> TuningRecord:
    return TuningRecord(task, "cortex-m7", knobs, cost, 1000, board="nucleo-h743zi")


@pytest.mark.arm
def test_the_best_points_of_the_kind_go_first(own_folders, tmp_path):
    records = (
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", SECOND, 900),
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", IMPOSSIBLE, 100),
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", SLOWER, 1100),
        _record("conv2d_5x5_7_to_7_by_7 step 7 i16", BEST, 800),
        _record("dense_5_to_5 i16", BEST | {"unroll": 1}, 1),
    )
    prior = tmp_path / "prior.jsonl"
    prior.write_text("".join(record.as_line() for record in records))
    choices = TuneChoices(prior=prior, tuner="random", tasks="1")
    board = load_board("mps2-an386")
    (task,) = begin(read_job(DIGITS, board.target, SIZE), board, choices, ()).searches
    assert task.task.name == "conv2d_1x1_8_to_24_by_8 step 8 i16"
    first = task.tuner.propose(3)
    assert first[:2] == [BEST, SECOND]
    assert first[2] not in (IMPOSSIBLE, SLOWER)
