"""Weights of four bits, four in a half-word, give the reference's bits; where they cannot, none are."""

import subprocess
from dataclasses import replace
from itertools import compress, product
from pathlib import Path

import numpy as np
import pytest
from c_checks import failures_on_board
from model_checks import DSP, OPTIONS, case_checks, compiled, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.graph import Graph
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.target import Target
from codegen.isa.dsp.window import RECORD_BYTES
from codegen.kernels.four_bit_weights import (
    ChannelTiles,
    WindowOfPairs,
    channel_tiles,
    half_words,
    has_four_bits,
    largest_sum_of_digits,
)
from codegen.options import CompileOptions

SAME3 = ((1, 1), (1, 1))
POINT, WINDOW = (1, 1), (3, 3)
VECTORS = {
    "eights": (96, 16),
    "a_four_left": (64, 12),
    "ten": (110, 10),
    "odd": (149, 7),
    "alone": (40, 1),
    "two_balancing_pairs": (640, 8),
}
# Rows and columns of the input, its channels, those of the result; the kernel.
SHAPES = {
    "twos": ((4, 6, 32, 20), POINT),
    "a_pixel_left": ((3, 7, 36, 20), POINT),
    "odd_channels": ((2, 4, 37, 21), POINT),
    "a_pixel_behind_blocks": ((1, 5, 256, 18), POINT),
    "windows": ((19, 5, 6, 18), WINDOW),
    "blocks": ((7, 29, 8, 20), WINDOW),
    "odd_rows": ((21, 8, 5, 8), WINDOW),
}


def four_bits(given: Weights, value: int | None = None) -> Weights:
    """The same shape with all weights of four bits, or one of them everywhere."""
    seeded = np.random.default_rng(given.type.shape[0])
    found = seeded.integers(-8, 8, given.type.shape).astype(np.int8)
    return Weights(given.type, found if value is None else np.full_like(found, value))


def vector(name: str, out_zero: int = -128, value: int | None = None) -> OpCase:
    depth, channels = VECTORS[name]
    x, out = int8(1, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(channels, depth, axis=0), value)
    return op_case(f"four_bits_{name}_to_{out_zero}_{value}", Dense(), [x], out, [w, int32_bias(channels)])


def rows(
    name: str, stride: tuple[int, int] = (1, 1), out_zero: int = -128, value: int | None = None
) -> OpCase:
    (height, width, depth, channels), kernel = SHAPES[name]
    x, out = int8(1, height, width, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(channels, *kernel, depth, axis=0), value)
    op = Conv2d(stride=stride, padding=SAME3 if kernel == WINDOW else ((0, 0), (0, 0)))
    label = f"four_bits_{name}_by_{stride[1]}_to_{out_zero}_{value}"
    return op_case(label, op, [x], out, [w, int32_bias(channels)])


def depthwise(
    height: int, width: int, channels: int, stride: int = 1, out_zero: int = -128, value: int | None = None
) -> OpCase:
    x, out = int8(1, height, width, channels, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(*WINDOW, channels, axis=2), value)
    op = DepthwiseConv2d(stride=(stride, stride), padding=SAME3)
    label = f"four_bits_depthwise_{width}x{channels}_by_{stride}_to_{out_zero}_{value}"
    return op_case(label, op, [x], out, [w, int32_bias(channels)])


DEPTHWISE = [
    depthwise(6, 5, 8),
    depthwise(5, 12, 3, stride=2),
    depthwise(4, 9, 5, out_zero=0),
    *(depthwise(3, 5, 2, value=value) for value in (-8, 7)),
]
CASES = [
    *DEPTHWISE,
    *(vector(name) for name in VECTORS),
    vector("eights", 0),  # rounded away from zero
    *(vector("eights", value=value) for value in (-8, 7, -1, 0)),
    *(rows(name) for name in SHAPES),
    rows("windows", (2, 2)),
    rows("twos", out_zero=0),
    *(rows("twos", value=value) for value in (-8, 7)),
]


def has_four_bits_in(graph: Graph, target: Target = DSP, options: CompileOptions = OPTIONS["speed"]) -> bool:
    space = only_stage(graph, target, options).kernel.space
    return space is not None and space.task.endswith(" four bits")


def with_one_weight(case: OpCase, value: int) -> Graph:
    """The same layer with another first weight."""
    (_node,), name = case.graph.nodes, case.graph.nodes[0].inputs[1]
    assert name is not None
    changed = case.graph.constants[name].copy()
    changed.flat[0] = value
    return replace(case.graph, constants={**case.graph.constants, name: changed})


def short() -> OpCase:
    """A window of sixteen values."""
    x, out = int8(1, 4, 6, 16, zero_point=3), int8(scale=0.05, zero_point=-128)
    w = four_bits(int8_weights(20, *POINT, 16, axis=0))
    return op_case("four_bits_short", Conv2d(), [x], out, [w, int32_bias(20)])


LONG = ("four_bits_blocks", "four_bits_windows", "four_bits_odd_rows")  # in Python


def as_param(each: OpCase) -> object:
    is_long = str(each.name).startswith(LONG)
    return pytest.param(each, marks=[pytest.mark.slow] if is_long else [])


@pytest.mark.slow
@pytest.mark.parametrize("each", [as_param(each) for each in CASES], ids=lambda each: str(each.name))
def test_every_case_takes_four_weights_at_once_and_equals_the_reference_in_loops(each):
    assert has_four_bits_in(each.graph)
    require_the_reference_in_loops(each)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("goal", ["speed", "size"])
def test_the_c_equals_the_reference(goal, compiler, tmp_path):
    checks = case_checks([*CASES, short()], DSP, goal)
    assert failures_on_board(checks, tmp_path / "checks", compiler=compiler[0]) == {}


def test_a_half_word_has_a_weight_of_four_channels_and_ends_with_zeros():
    """Values are taken as widening the bytes of a word gives them: the first and the third together."""
    weights = np.array([[1, -2, 3, 4, 5], [-8, 7, 0, 0, 0], [0] * 5, [0, 0, 0, 0, -1]], np.int8)
    window = WindowOfPairs(1, 5)
    words = half_words(weights[:, None], window, 1).reshape(window.pairs, 2)
    zero = 0x888
    assert words.tolist() == [
        [0x1088, 0x3888],
        [-0x2000 + 0xF88, 0x4888],
        [0x5887, zero],
        [zero, zero],
        [zero, zero],
    ]


def test_balancing_values_make_the_sum_of_a_window_zero():
    assert WindowOfPairs(1, 255).balancing_pairs == 1
    assert WindowOfPairs(1, 508).balancing_pairs == 1
    assert WindowOfPairs(1, 512).balancing_pairs == 2
    assert WindowOfPairs(3, 10).pairs == 3 * 6 + 1


def test_channels_that_are_left_have_as_few_half_words_as_hold_them():
    assert channel_tiles(16, 2) == (ChannelTiles(0, 2, 8, 2),)
    assert channel_tiles(13, 2) == (ChannelTiles(0, 2, 8, 1), ChannelTiles(8, 2, 5, 1))
    assert channel_tiles(10, 2) == (ChannelTiles(0, 2, 8, 1), ChannelTiles(8, 1, 2, 1))
    assert channel_tiles(3, 1) == (ChannelTiles(0, 1, 3, 1),)


def test_four_bits_hold_weights_from_minus_8_to_7():
    assert has_four_bits(np.array([-8, 7], np.int8))
    assert not has_four_bits(np.array([-9, 7], np.int8))
    assert not has_four_bits(np.array([-8, 8], np.int8))
    assert not has_four_bits_in(with_one_weight(vector("eights"), 8))


@pytest.mark.parametrize(
    ("weights", "least_part"),
    [
        (((-8, 7, -8, 3), (7, -8, 2, -1), (1,) * 4, (-8,) * 4), 0.5),
        (
            ((-1,) * 4, (7,) * 4, (7,) * 4, (7,) * 4),
            0.1,
        ),  # half-words of -1: differences are larger than sums
    ],
)
def test_no_order_of_products_leaves_the_bound(weights, least_part):
    """Every part of every sum, at the ends of the values, with what makes their sum 0, and differences."""
    given, window = np.array(weights, np.int8)[:, None], WindowOfPairs(1, 4)
    words = half_words(given, window, 1).reshape(-1)
    starts = np.array([-900, 20, 30, 40])
    bound = largest_sum_of_digits(given, starts, window)
    reached = 0
    for values in product((-128, 127), repeat=4):
        x, y, z, u = values
        factors = (x, z, y, u, -sum(values), 0)
        first_difference = 4096 * int(given[0, 0].astype(int) @ values)
        reached = max(reached, abs(first_difference))
        for digits in (0xFFFF, 0xFFF, 0xFF, 0xF):
            kept = [int(word) if digits == 0xFFFF else int(word) & digits for word in words]
            terms = [word * factor for word, factor in zip(kept, factors, strict=True)]
            begin = abs(int(sum(starts * np.array((4096, 256, 16, 1)))))
            parts = (sum(compress(terms, taken)) for taken in product((0, 1), repeat=6))
            reached = max(reached, *(abs(part) + begin for part in parts))
    assert least_part * bound < reached <= bound


def test_sums_that_leave_32_bits_go_another_way():
    long = WindowOfPairs(1, 1024)
    for each, is_held in ((1, True), (7, False)):
        weights = np.full((4, 1, 1024), each, np.int8)
        assert (largest_sum_of_digits(weights, np.zeros(4), long) < 1 << 31) == is_held
    name = "two_balancing_pairs"
    assert has_four_bits_in(vector(name, value=2).graph)
    assert not has_four_bits_in(vector(name, value=7).graph)


def test_short_windows_have_four_bits_where_flash_is_the_goal():
    graph = short().graph
    assert not has_four_bits_in(graph)
    assert has_four_bits_in(graph, options=OPTIONS["size"])


def test_cores_with_two_slots_and_memory_to_be_saved_go_another_way():
    for each in (rows("twos"), vector("eights")):
        assert not has_four_bits_in(each.graph, replace(DSP, pairs_instructions=True))
        assert not has_four_bits_in(each.graph, options=OPTIONS["ram"])


def test_constants_take_half_as_much():
    graph = vector("eights").graph
    constants = [
        sum(array.nbytes for array in only_stage(each).kernel.constants.values() if array.dtype != np.int32)
        for each in (graph, with_one_weight(vector("eights"), 8))
    ]
    depth, channels = VECTORS["eights"]
    assert constants == [channels * ((depth + 2) // 2 + 2), channels * (depth + 2)]


def test_nine_weights_of_a_depthwise_layer_take_five_bytes():
    case = depthwise(6, 5, 8)
    assert [
        only_stage(graph).kernel.constants["w"].nbytes for graph in (case.graph, with_one_weight(case, 8))
    ] == [8 * 5, 8 * RECORD_BYTES]  # a record has nine bytes of weights, and the numbers of its scale


@pytest.mark.arm
@pytest.mark.slow
def test_gcc_finds_registers_at_every_level(tmp_path):
    """Tiles take all that the compiler does not need itself."""
    core = ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-std=c99", "-Werror", "-c")
    for each in (
        vector("a_four_left"),
        vector("two_balancing_pairs", value=2),
        rows("twos"),
        rows("windows"),
    ):
        made = compiled(each.graph, DSP, OPTIONS["speed"], "model")
        for name, text in made.sources.items():
            (tmp_path / Path(name).name).write_text(text)
        for level in ("-O1", "-Os", "-O2", "-O3"):
            words = ("arm-none-eabi-gcc", *core, level, f"{made.name}.c")
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{each.name} {level}: {done.stderr}"
