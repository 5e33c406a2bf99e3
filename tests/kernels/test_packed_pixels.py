"""Convolutions with two pixels in a word give the reference's bits; their turns have room for all sums."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_host
from model_checks import OPTIONS, PLAIN, case_checks, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.types import Array
from aot.ops.conv2d import Conv2d
from aot.target import Target
from codegen.kernels.packed_pixels import MOST_WEIGHT, PackedTiles, packed_tiles, tap_order

RISC_V = Target("rv32imac", registers=26, machine="riscv")
SAME3 = ((1, 1), (1, 1))
# Rows and columns of the input, its channels, those of the result; the kernel.
SHAPES = {
    "pairs": ((6, 8, 16, 24), 1),
    "one_alone": ((8, 5, 13, 25), 1),
    "windows": ((12, 9, 6, 24), 3),
    "long_rows": ((6, 19, 6, 16), 3),
}


def case(
    name: str, stride: int = 1, value: int | None = None, out_zero: int = -128, dilation: int = 1
) -> OpCase:
    (rows, columns, depth, channels), window = SHAPES[name]
    x, out = int8(1, rows, columns, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = int8_weights(channels, window, window, depth, axis=0)
    given = w if value is None else Weights(w.type, np.full(w.type.shape, value, np.int8))
    padding = SAME3 if window == 3 else ((0, 0), (0, 0))
    op = Conv2d(stride=(stride, stride), padding=padding, dilation=(dilation, dilation))
    label = f"packed_{name}_by_{stride}_to_{out_zero}_{value}"
    return op_case(label, op, [x], out, [given, int32_bias(channels)])


CASES = [
    *(case(name) for name in SHAPES),
    case("windows", stride=2),
    case("one_alone", out_zero=0),
    *(case("pairs", value=value) for value in (-127, 127, -63, 9)),  # turns that are as full as can be
]


@pytest.mark.slow
@pytest.mark.parametrize("each", CASES, ids=lambda each: str(each.name))
def test_every_case_is_packed_and_equals_the_reference_in_loops(each):
    assert only_stage(each.graph, RISC_V).kernel.strategy == "packed"
    require_the_reference_in_loops(each, RISC_V)


@pytest.mark.cc
@pytest.mark.slow
def test_the_c_equals_the_reference_under_sanitizers(tmp_path):
    assert failures_on_host(case_checks(CASES, RISC_V, "speed"), tmp_path / "checks") == {}


def test_all_else_goes_the_plain_way():
    """Cores with few registers, code or memory to be saved, weights without room for two in a turn."""
    for target, goal in ((PLAIN, "speed"), (RISC_V, "size"), (RISC_V, "ram")):
        assert only_stage(case("pairs").graph, target, OPTIONS[goal]).kernel.strategy == "plain"
    for other in (case("pairs", value=-128), case("windows", dilation=2)):
        assert only_stage(other.graph, RISC_V).kernel.strategy == "plain"
    external = replace(OPTIONS["speed"], weights_external=True)
    assert only_stage(case("pairs").graph, RISC_V, external).kernel.strategy == "plain"


def test_words_of_a_tile_lie_in_scratch():
    kernel = only_stage(case("long_rows").graph, RISC_V).kernel
    assert kernel.space is not None
    tile, taps = kernel.space.default, kernel.proc.param("taps").elements
    assert kernel.scratch_bytes == -(-tile["pixels"] // 2) * taps * 4


def test_a_pixel_is_alone_at_the_end_of_an_odd_row():
    assert packed_tiles(5, 5) == (PackedTiles(0, 5, 1),)
    assert packed_tiles(9, 4) == (PackedTiles(0, 4, 2), PackedTiles(8, 1, 1))


def turns(weights: Array, taps: int) -> Array:
    """The absolute weights of each turn, [channel][turn]."""
    order = tap_order(weights, taps)
    assert order is not None
    reordered = np.abs(order.reordered(weights).astype(np.int64))
    return np.asarray(reordered.reshape(len(weights), -1, taps).sum(axis=2))


def test_every_weight_is_in_one_turn_and_every_turn_has_room():
    weights = np.random.default_rng(3).integers(-80, 81, (16, 2, 1, 10)).astype(np.int8)
    found = turns(weights, 3)
    assert found.shape == (16, 2 * 4)
    assert found.max() <= MOST_WEIGHT
    assert np.array_equal(found.sum(axis=1), np.abs(weights.astype(np.int64)).sum(axis=(1, 2, 3)))
    order = tap_order(weights, 3)
    assert order is not None
    for row in order.rows:
        assert sorted(row) == [-1, -1, *range(10)]


def test_large_weights_that_are_neighbours_come_apart():
    """No three neighbours would have room among 127, 127, 127 and nine of 1."""
    weights = np.array([127, 127, 127, *[1] * 9], np.int8).reshape(1, 1, 1, 12)
    assert turns(weights, 3).max() == 129


def test_a_swap_makes_room_where_the_first_order_has_none():
    """Each tap in the turn where it leaves most room: a turn comes to 280."""
    weights = np.array([[60, 65, 96, 121, 4, 18], [105, 121, 31, 39, 111, 54]], np.int8).reshape(2, 1, 1, 6)
    assert turns(weights, 3).max() <= MOST_WEIGHT


def test_there_is_no_order_for_weights_that_are_too_large_together():
    full = np.full((1, 1, 1, 8), 127, np.int8)
    assert tap_order(full, 2) is not None
    assert tap_order(full, 3) is None
    assert tap_order(np.full((1, 1, 1, 8), -128, np.int8), 2) is None


def test_the_last_turn_of_a_kernel_with_one_row_may_be_short():
    weights = np.random.default_rng(3).integers(-80, 81, (16, 1, 1, 10)).astype(np.int8)
    order = tap_order(weights, 3)
    assert order is not None
    assert (order.length, order.turns, order.rest) == (10, 3, 1)
    assert sorted(order.rows[0]) == [*range(10)]
    sizes = np.abs(order.reordered(weights).astype(np.int64))
    assert sizes[:, :9].reshape(16, 3, 3).sum(axis=2).max() <= MOST_WEIGHT


def test_taps_without_room_for_a_short_last_turn_are_spread_with_zeros():
    """Two in the last turn leave 127 and 127 and 127 together in another."""
    weights = np.array([127, 127, 127, 127, 127], np.int8).reshape(1, 1, 1, 5)
    assert tap_order(weights, 3) is None
    order = tap_order(weights[..., :4], 3)
    assert order is not None
    assert (order.length, order.rest) == (6, 0)
