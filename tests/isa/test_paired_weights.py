"""Weights in pairs give the reference's bits, at the ends of their range too; where they cannot, none are."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board
from model_checks import DSP, OPTIONS, case_checks, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.graph import Graph
from aot.ops.dense import Dense
from aot.passes.pipeline import run_meaning
from codegen.kernels.dense import dense_tail
from codegen.kernels.paired_weights import ENLARGED, enlarged_tail, half_words, pairs_fit
from codegen.lower.decisions import Decisions
from codegen.lower.lower import lower_graph
from codegen.lower.sites import Sites

VECTORS = {"sixes": (96, 12), "rest": (108, 10), "few": (256, 4), "odd": (149, 7)}


def vector(name: str, out_zero: int = -128, weights: int | None = None) -> OpCase:
    depth, channels = VECTORS[name]
    x, out = int8(1, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = int8_weights(channels, depth, axis=0)
    given = w if weights is None else Weights(w.type, np.full(w.type.shape, weights, np.int8))
    return op_case(f"paired_vector_{name}_{weights}", Dense(), [x], out, [given, int32_bias(channels)])


CASES = [
    *(vector(name) for name in VECTORS),
    vector("sixes", 0),  # rounded away from zero: shifted back
    *(vector("few", weights=value) for value in (-127, 127, -9, 9)),
]


def is_paired(graph: Graph) -> bool:
    space = only_stage(graph).kernel.space
    return space is not None and space.task.endswith(" paired")


@pytest.mark.parametrize("each", CASES, ids=lambda each: str(each.name))
def test_every_case_takes_weights_in_pairs_and_equals_the_reference_in_loops(each):
    assert is_paired(each.graph)
    require_the_reference_in_loops(each)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_c_equals_the_reference(compiler, tmp_path):
    checks = case_checks(CASES, DSP, "speed")
    assert failures_on_board(checks, tmp_path / "checks", compiler=compiler[0]) == {}


def test_a_half_word_holds_two_weights_and_rows_end_in_zeros():
    weights = np.array([[[[-1, 2, 127]], [[-128, -127, 5]]]], np.int8)
    assert half_words(weights).tolist() == [[[-256 + 2, 127 * 256], [-128 * 256 - 127, 5 * 256]]]


def test_pairs_that_no_half_word_holds_go_another_way():
    """-128 before a negative weight would be below -32768."""
    assert pairs_fit(np.array([[-128, 0, 3, 4]], np.int8), np.zeros(1, np.int64))
    assert not pairs_fit(np.array([[-128, -1, 3, 4]], np.int8), np.zeros(1, np.int64))
    assert is_paired(vector("few", weights=-127).graph)
    assert not is_paired(vector("few", weights=-128).graph)


def test_sums_that_leave_32_bits_256_times_as_large_go_another_way():
    long = np.full((1, 500), 127, np.int8)
    assert pairs_fit(long, np.zeros(1, np.int64))
    assert not pairs_fit(long, np.full(1, 300_000, np.int64))
    assert not pairs_fit(np.full((1, 600), 127, np.int8), np.zeros(1, np.int64))


def test_where_sums_would_begin_too_far_away_none_are_fitted(monkeypatch):
    """The bias fits 256 times as large, but not the farthest start that fitting may choose."""
    graph = run_meaning(vector("few", weights=127).graph).graph
    sites = Sites(graph, DSP, OPTIONS["speed"], Decisions())
    site = sites.of(graph.nodes[0])
    tail, weights = dense_tail(site), np.full((4, 500), 127, np.int8)
    far = replace(tail, bias=tail.bias + (1 << 19))
    for fitted, difference in ((far, 0), (replace(tail, bias=tail.bias + 1), ENLARGED)):
        monkeypatch.setattr("codegen.kernels.paired_weights.fitted_tail", lambda *_, fitted=fitted: fitted)
        enlarged = enlarged_tail(tail, weights)
        surplus = 127 * 127 * weights.shape[1] // 2
        assert np.array_equal(enlarged.bias, tail.bias * ENLARGED - surplus + difference)


def test_cores_with_two_slots_and_code_to_be_small_go_another_way():
    graph = run_meaning(vector("few").graph).graph
    in_pairs, small = replace(DSP, pairs_instructions=True), OPTIONS["size"]
    for target, options in ((in_pairs, OPTIONS["speed"]), (DSP, small)):
        (stage,) = (s for s in lower_graph(graph, target, options).stages if s.op == "dense")
        assert not str(stage.kernel.space and stage.kernel.space.task).endswith(" paired")
