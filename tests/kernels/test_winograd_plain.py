"""Winograd's convolutions with plain products give the reference's bits, for the largest sums too."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from model_checks import OPTIONS, PLAIN, case_checks, model_check, only_stage, require_the_reference_in_loops
from op_case import Weights, int8, int8_weights, int32_bias, op_case

from aot.ops.conv2d import Conv2d
from aot.target import Target
from codegen.kernels.winograd import sums_fit

RISC_V = Target("rv32imac", registers=26, machine="riscv")
TARGETS = {"26": RISC_V, "16": PLAIN, "8": Target("cortex-m0plus", machine="arm")}  # by registers
SAME3 = ((1, 1), (1, 1))
SHAPES = {  # rows and columns of the input, its channels, those of the result
    "one_block": (2, 8, 16, 16),
    "two_blocks": (4, 16, 10, 12),
    "one_channel_in_a_turn": (2, 8, 17, 8),
}


def case(name, zero_point=-128, padding=SAME3, out_zero=-7):
    rows, columns, depth, channels = SHAPES[name]
    x, out = int8(1, rows, columns, depth, zero_point=zero_point), int8(scale=0.05, zero_point=out_zero)
    w, bias = int8_weights(channels, 3, 3, depth, axis=0), int32_bias(channels)
    label = f"winograd_{name}_{zero_point}_{out_zero}"
    return op_case(label, Conv2d(padding=padding), [x], out, [w, bias])


CASES = [
    *(case(shape) for shape in SHAPES),
    case("one_block", out_zero=-128),
    case("one_block", 3, ((2, 0), (2, 0))),
    case("one_block", 127, ((0, 2), (0, 2))),
]
MOST_CHANNELS = 908  # of -128 everywhere, in words of four


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("each", CASES[:2], ids=lambda each: str(each.name))
def test_the_loops_equal_the_reference(each, target):
    assert only_stage(each.graph, target).kernel.strategy == "winograd"
    require_the_reference_in_loops(each, target)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_c_equals_the_reference_under_sanitizers(target, tmp_path):
    assert failures_on_host(case_checks(CASES, target, "speed"), tmp_path / "checks") == {}


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(("registers", "board"), [("26", "qemu-riscv32"), ("16", "mps2-an385")])
def test_the_c_equals_the_reference_on_boards(registers, board, tmp_path):
    checks = case_checks(CASES, TARGETS[registers], "speed")
    assert failures_on_board(checks, tmp_path / "checks", board) == {}


def signs(shape, axes):
    """1 and -1 in turn along these axes."""
    return np.where(np.indices(shape)[list(axes)].sum(0) % 2, -1, 1)


def largest(axes):
    """As many channels as 32 bits allow, with weights and pixels at their ends, whose products add up."""
    weights = int8_weights(8, 3, 3, MOST_CHANNELS, axis=0)
    ends = np.where(signs(weights.type.shape, axes) < 0, 127, -128).astype(np.int8)
    x, out = int8(1, 2, 8, MOST_CHANNELS, zero_point=0), int8(scale=30000.0, zero_point=0)
    given = [Weights(weights.type, ends), int32_bias(8)]
    return op_case(f"winograd_largest_{len(axes)}", Conv2d(padding=SAME3), [x], out, given)


def test_one_more_word_of_channels_would_not_fit():
    assert sums_fit(np.full((1, 3, 3, MOST_CHANNELS), -128, np.int8))
    assert not sums_fit(np.full((1, 3, 3, MOST_CHANNELS + 4), -128, np.int8))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("axes", [(), (1, 2), (1,)], ids=["equal", "in_turn", "rows_in_turn"])
def test_the_largest_sums_fit_32_bits_under_sanitizers(axes, tmp_path):
    each = largest(axes)
    assert only_stage(each.graph, RISC_V).kernel.strategy == "winograd"
    shape = each.graph.types["x0"].shape
    by_sign = np.where(signs(shape, axes) < 0, 127, -128).astype(np.int8)
    every = [by_sign, ~by_sign, np.full(shape, -128, np.int8), np.full(shape, 127, np.int8)]
    samples = [{"x0": values} for values in every]
    check = model_check(each.name, "k", each.graph, RISC_V, OPTIONS["speed"], samples)
    assert failures_on_host([check], tmp_path / "checks") == {}


def test_all_else_goes_another_way():
    """To save memory or code, with weights from outside, on two cores, 8-bit cores and computers."""
    graph = case("one_block").graph
    for target in TARGETS.values():
        for goal in ("size", "ram"):
            assert only_stage(graph, target, OPTIONS[goal]).kernel.strategy != "winograd"
    external = replace(OPTIONS["speed"], weights_external=True)
    assert only_stage(graph, RISC_V, external).kernel.strategy != "winograd"
    two = replace(OPTIONS["speed"], cores=2)
    assert only_stage(graph, Target("cortex-m0plus", machine="arm"), two).kernel.strategy == "plain"
    for target in (Target("avr", machine="avr", pointer_bytes=2), Target("host", machine="host")):
        assert only_stage(graph, target).kernel.strategy == "plain"


def test_transformations_that_cost_more_than_products_are_not_made():
    """A layer of two rows and one block saves less than its code is worth."""
    x, out = int8(1, 2, 8, 8), int8(scale=0.05, zero_point=-128)
    small = op_case("small", Conv2d(padding=SAME3), [x], out, [int8_weights(8, 3, 3, 8, axis=0)])
    kernel = only_stage(small.graph, RISC_V).kernel
    reasons = {each.strategy: each.why for each in kernel.passed_over}
    assert (
        reasons["winograd"] == "only for layers where fewer products save more than the sums before and after"
    )
