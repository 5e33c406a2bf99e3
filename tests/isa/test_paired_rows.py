"""Convolutions with weights in pairs give the reference's bits: tiles of all sizes, rows in blocks."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board
from graphs import Draft
from model_checks import DSP, OPTIONS, case_checks, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ops.conv2d import Conv2d
from codegen.isa.dsp.strategies.paired_weights import saves_cycles
from codegen.kernels.paired_rows import (
    PixelTiles,
    blocks_of,
    groups_of_window,
    in_order_of_windows,
    pixel_tiles,
)
from codegen.lower.stages import LoweredStage

SAME3 = ((1, 1), (1, 1))
POINT, WINDOW = (1, 1), (3, 3)
# Rows and columns of the input, its channels, those of the result; the kernel.
# So many rows that scratch, a share of the tensors, has room for several tiles.
SHAPES = {
    "threes_and_twos": ((4, 5, 16, 20), POINT),
    "twos_behind_threes": ((3, 7, 12, 20), POINT),
    "a_pixel_behind_blocks": ((1, 4, 256, 18), POINT),
    "odd_channels": ((2, 4, 19, 21), POINT),
    "groups_in_twos": ((6, 6, 48, 19), POINT),
    "a_group_left_over": ((7, 6, 72, 18), POINT),
    "windows": ((19, 5, 6, 18), WINDOW),
    "blocks": ((7, 29, 8, 20), WINDOW),
    "rests_joined": ((21, 8, 3, 8), WINDOW),
    "rests_of_two": ((8, 5, 2, 20), WINDOW),
}


def case(
    name: str, stride: tuple[int, int] = (1, 1), out_zero: int = -128, value: int | None = None
) -> OpCase:
    (rows, columns, depth, channels), kernel = SHAPES[name]
    x, out = int8(1, rows, columns, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = int8_weights(channels, *kernel, depth, axis=0)
    given = w if value is None else Weights(w.type, np.full(w.type.shape, value, np.int8))
    op = Conv2d(stride=stride, padding=SAME3 if kernel == WINDOW else ((0, 0), (0, 0)))
    label = f"paired_rows_{name}_by_{stride[1]}_to_{out_zero}_{value}"
    return op_case(label, op, [x], out, [given, int32_bias(channels)])


CASES = [
    *(case(name) for name in SHAPES),
    case("windows", (2, 2)),
    case("rests_joined", (2, 2)),
    case("threes_and_twos", out_zero=0),  # rounded away from zero: shifted back
    *(case("groups_in_twos", value=value) for value in (-127, 127, -9, 9)),
]


def written_out() -> OpCase:
    """A layer with so much work that all its groups stand in the code."""
    x, out, bias = int8(1, 8, 10, 64), int8(scale=0.05, zero_point=-128), int32_bias(64)
    weights = int8_weights(64, 1, 1, 64, axis=0)
    return op_case("paired_rows_written_out", Conv2d(), [x], out, [weights, bias])


def is_paired(stage: LoweredStage) -> bool:
    return stage.kernel.space is not None and stage.kernel.space.task.endswith(" paired")


LONG = ("paired_rows_blocks", "paired_rows_windows", "paired_rows_a_group")  # in Python


def as_param(each: OpCase) -> object:
    is_long = str(each.name).startswith(LONG)
    return pytest.param(each, marks=[pytest.mark.slow] if is_long else [])


@pytest.mark.slow
@pytest.mark.parametrize("each", [as_param(each) for each in CASES], ids=lambda each: str(each.name))
def test_every_case_takes_weights_in_pairs_and_equals_the_reference_in_loops(each):
    assert is_paired(only_stage(each.graph))
    require_the_reference_in_loops(each)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_c_equals_the_reference(compiler, tmp_path):
    checks = case_checks([*CASES, written_out()], DSP, "speed")
    assert failures_on_board(checks, tmp_path / "checks", compiler=compiler[0]) == {}


def test_a_row_of_two_pixels_may_have_tiles_of_one_or_both_and_no_more():
    x, out = int8(1, 12, 2, 48), int8(scale=0.05)
    two = op_case("two_pixels", Conv2d(), [x], out, [int8_weights(19, *POINT, 48, axis=0)])
    stage = only_stage(two.graph)
    assert is_paired(stage)
    assert stage.kernel.space is not None
    beside_default = stage.kernel.space.points[1:]
    assert {point["pixels"] for point in beside_default} == {1, 2}
    assert {point["unroll"] for point in beside_default if point["pixels"] == 2} >= {1, 2, 3, 6, 12}


def test_rows_stay_bytes_and_factors_lie_in_scratch():
    stage = only_stage(case("windows").graph)
    assert stage.reads[0].access.count == 3
    assert stage.kernel.scratch == {"v": 0}
    assert stage.kernel.scratch_bytes == 5 * 14 * 8  # pixels, groups of four, bytes of each


def test_tiles_leave_no_pixel_alone():
    assert pixel_tiles(7, 3) == (PixelTiles(0, 3, 1), PixelTiles(3, 2, 2))
    assert pixel_tiles(6, 3) == (PixelTiles(0, 3, 2),)
    assert pixel_tiles(4, 3) == (PixelTiles(0, 2, 2),)
    assert pixel_tiles(1, 3) == (PixelTiles(0, 1, 1),)
    assert pixel_tiles(8, 4) == (PixelTiles(0, 4, 2),)
    assert pixel_tiles(7, 4) == (PixelTiles(0, 4, 1), PixelTiles(4, 3, 1))
    assert pixel_tiles(10, 4) == (PixelTiles(0, 4, 1), PixelTiles(4, 3, 2))
    assert pixel_tiles(9, 4) == (PixelTiles(0, 4, 1), PixelTiles(4, 3, 1), PixelTiles(7, 2, 1))


def test_factors_of_a_long_row_are_made_in_blocks():
    """2,048 bytes have room for 14 pixels of 18 groups: for four tiles of three."""
    assert blocks_of(14, 18 * 8, 3) == (PixelTiles(0, 14, 1),)
    assert blocks_of(27, 18 * 8, 3) == (PixelTiles(0, 9, 3),)
    assert blocks_of(29, 18 * 8, 3) == (PixelTiles(0, 12, 2), PixelTiles(24, 5, 1))
    assert blocks_of(48, 7 * 8, 3) == (PixelTiles(0, 24, 2),)
    assert blocks_of(4, 300 * 8, 3) == (PixelTiles(0, 3, 1), PixelTiles(3, 1, 1))


def test_factors_of_a_small_layer_take_a_quarter_of_its_tensors():
    """A pixel takes 128 bytes, the tensors of 25 pixels 3,200: 800 bytes hold one tile of four."""
    d = Draft()
    stage = only_stage(d.graph(d.conv("c", d.input("x", 1, 5, 5, 64), 64, 1)))
    assert stage.kernel.scratch_bytes == 5 * (64 // 4) * 8
    long_row = only_stage(d.graph(d.conv("d", d.input("z", 1, 1, 25, 64), 64, 1)))
    assert long_row.kernel.scratch_bytes == 4 * (64 // 4) * 8


def test_what_kernel_rows_have_left_is_joined_where_that_makes_fewer_groups():
    assert groups_of_window(3, 9) == 3 * 2 + 1
    assert groups_of_window(3, 7) == 3 * 2  # joined, three rests of three take three groups, too
    assert groups_of_window(1, 9) == 3
    weights = np.arange(27, dtype=np.int8).reshape(1, 3, 3, 3)
    rows = weights.reshape(3, 9)
    assert in_order_of_windows(weights).tolist() == [[*rows[:, :8].reshape(-1), *rows[:, 8]]]


def test_tiles_have_as_many_pixels_as_the_fastest_row_of_this_length():
    """Five pixels are three and two, six are two threes, seven a four and a three."""
    sizes = {}
    for pixels in (2, 5, 6, 7, 12, 24):
        x, out = int8(1, 12, pixels, 64), int8(scale=0.05)
        row = op_case("row", Conv2d(), [x], out, [int8_weights(19, *POINT, 64, axis=0)])
        sizes[pixels] = only_stage(row.graph).kernel.point["pixels"]
    assert sizes == {2: 2, 5: 3, 6: 3, 7: 4, 12: 4, 24: 4}


def test_few_channels_and_lone_pixels_do_not_make_up_for_the_factors():
    assert saves_cycles(48, 32, 1, 16)
    assert saves_cycles(48, 16, 1, 8)
    assert not saves_cycles(48, 4, 1, 8)
    assert not saves_cycles(1, 4, 1, 64)
    assert saves_cycles(48, 8, 3, 9)  # fewer groups


def test_cores_with_two_slots_and_code_or_memory_to_be_saved_go_another_way():
    graph = case("threes_and_twos").graph
    assert not is_paired(only_stage(graph, replace(DSP, pairs_instructions=True)))
    for goal in ("size", "ram"):
        assert not is_paired(only_stage(graph, options=OPTIONS[goal]))
