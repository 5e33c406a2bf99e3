"""The committed counts are what the tools print: none has become more than 1 % worse unnoticed."""

import json

import pytest
from shared_facts import facts_of

from aot.target import Optimize
from benchmarks.cases import (
    FEWER_ON,
    MORE_MODELS,
    MORE_ON,
    OTHER_MODELS,
    TFLM,
    TOO_LARGE,
    TUNED_FOR,
    Case,
    all_cases,
)
from benchmarks.measure import measure
from benchmarks.report import report
from benchmarks.results import Result, read_results
from benchmarks.shared import shared_models

# What must be fast, on what is tuned for; one of each kind elsewhere. `make bench` measures them all.
FAST = (*(f"tiny_{name}_int8" for name in ("ad_fc", "ic_resnet8", "kws_dscnn", "vww_mbv1")),)
FAST += ("tflm_micro_speech_int8", "tflm_person_detect_int8")
MEASURED = (
    *(Case(model, board, "speed") for board in ("mps2-an386", "mps3-an547") for model in FAST),
    Case("tflm_hello_world_int8", "mps2-an385", "speed"),
    Case("tiny_ic_resnet8_int8", "mps2-an386", "ram"),
    Case("tiny_vww_mbv1_int8", "mps2-an386", "size"),
    Case("tiny_kws_dscnn_int8", "mps2-an383", "speed"),
    Case("tiny_kws_dscnn_int8", "qemu-riscv32", "speed"),
    Case("tiny_kws_dscnn_int8", "qemu-riscv32-vectors", "speed"),
    Case("tiny_kws_dscnn_int8", "mps2-an500", "speed"),
    Case("tiny_kws_dscnn_int8", "mps2-an505", "speed"),
)
WORSE_BY = 1.01
CODE_WITHIN = 0.15
COSTS = ("instructions", "cycles", "arena_bytes", "stack_bytes", "code_bytes", "constants_bytes")
# What needs no board to be known is checked of every model that was chosen first, for each goal and core that
# is tuned for, and of some of the others.
ALSO_COMPILED = (*TUNED_FOR, *OTHER_MODELS, *MORE_MODELS[::4])
COMPILED = (
    *(case for case in all_cases() if case.board in MORE_ON and case.model in ALSO_COMPILED),
    *(case for case in all_cases() if case.board in (*FEWER_ON, "qemu-riscv32") and case.model in TUNED_FOR),
)


def _committed() -> dict[tuple[str, str, str], Result]:
    return {result.key: result for result in read_results()}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("case", MEASURED, ids=lambda c: f"{c.model}-{c.board}-{c.optimize}")
def test_a_cost_is_what_is_committed(case, shared_dir):
    measured, committed = measure(case), _committed()[measured_key(case)]
    worse = [
        f"{cost}: {getattr(measured, cost):,}, committed {getattr(committed, cost):,}"
        for cost in COSTS
        if (getattr(measured, cost) or 0) > (getattr(committed, cost) or 0) * WORSE_BY
    ]
    assert not worse, f"run `make bench` if this is meant: {worse}"


@pytest.mark.slow
@pytest.mark.parametrize("case", COMPILED, ids=lambda c: f"{c.model}-{c.board}-{c.optimize}")
def test_what_is_reported_before_a_build_is_what_is_committed(case, shared_dir):
    """Arena and constants; code is estimated."""
    found, committed = (
        facts_of(case.model, case.board, Optimize(case.optimize)),
        _committed()[measured_key(case)],
    )
    assert found.arena <= committed.arena_bytes * WORSE_BY
    assert found.constants <= committed.constants_bytes * WORSE_BY
    assert found.code_estimate == pytest.approx(committed.code_bytes, rel=CODE_WITHIN)
    assert found.stack_estimate >= (committed.stack_bytes or 0)


def test_every_row_of_the_table_of_estimates_is_near_and_no_stack_is_below(repo_root):
    """The table that the command prints: what is told, beside what builds take."""
    lines = (repo_root / "benchmarks" / "estimates.md").read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip().replace(",", "") for cell in line.split("|")[1:-1]] for line in lines if "| " in line
    ]
    cases = {(r[0], r[1], r[2]): [int(r[n]) for n in (3, 4, 6, 7)] for r in rows if r[3].isdigit()}
    assert set(cases) == set(_committed())
    far = {case: n for case, n in cases.items() if abs(n[0] / n[1] - 1) > CODE_WITHIN or n[2] < n[3]}
    assert not far


def measured_key(case: Case) -> tuple[str, str, str]:
    return case.model, case.board, case.optimize


@pytest.mark.parametrize("board", ["mps2-an383", "mps2-an385", "mps2-an386", "qemu-riscv32"])
def test_no_model_takes_more_than_tflite_micro_with_its_own_kernels(board):
    theirs = json.loads(TFLM.read_text())["instructions"][board]
    slower = [
        f"{r.model}: {r.instructions:,}, TFLite Micro {theirs[r.model]:,}"
        for r in read_results()
        if r.board == board and r.instructions > theirs.get(r.model, r.instructions)
    ]
    assert not slower


@pytest.mark.parametrize("board", ["mps2-an383", "mps2-an385", "qemu-riscv32"])
def test_no_count_of_a_core_without_fpu_is_what_a_counter_had_left_of_it(board):
    """A product of two floats takes tens of instructions there."""
    counted = [r for r in read_results() if r.board == board and r.model.endswith("_f32")]
    assert counted
    assert not [r.model for r in counted if r.instructions < 50 * r.macs]


@pytest.mark.parametrize(("goal", "most_bytes"), [("speed", 24 * 1024), ("size", 12 * 1024)])
@pytest.mark.parametrize(
    "model", [f"tiny_{name}_int8" for name in ("ad_fc", "ic_resnet8", "kws_dscnn", "vww_mbv1")]
)
def test_the_code_of_mlperf_tiny_is_small(model, goal, most_bytes):
    """With runtime, C library and startup; constants apart."""
    assert _committed()[model, "mps2-an386", goal].code_bytes <= most_bytes


def test_every_case_is_committed():
    assert set(_committed()) == {measured_key(case) for case in all_cases()}


@pytest.mark.parametrize("board", MORE_ON)
def test_every_shared_model_is_counted_or_it_is_said_why_not(board, shared_dir):
    counted = {model for model, where, _ in _committed() if where == board}
    assert counted | {model for model, where in TOO_LARGE if where == board} == set(shared_models())


def test_the_report_shows_every_case():
    text = report(read_results())
    tables = {(c.board, c.optimize) for c in all_cases()}
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.count("|") > 8]
    assert len(rows) == len(all_cases()) + 2 * len(tables)  # each has a head and a rule
