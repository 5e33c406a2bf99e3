"""Weights of four bits on Helium, two to a byte, give the reference's bits; not all pairs fit a byte."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board
from model_checks import MVE, OPTIONS, case_checks, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from codegen.isa.helium.four_bits import WeightForm, form_of, in_bytes
from codegen.kernels.kernel import Kernel
from codegen.options import CompileOptions

SAME3 = ((1, 1), (1, 1))
POINT, WINDOW = (1, 1), (3, 3)
# Rows and columns of the input, its channels, those of the result; the kernel and its stride.
SHAPES = {
    "pairs": ((4, 6, 32, 20), POINT, 1),
    "a_pixel_left": ((3, 7, 48, 20), POINT, 1),
    "odd_channels": ((2, 4, 37, 21), POINT, 1),
    "long": ((1, 5, 256, 18), POINT, 1),
    "windows": ((9, 5, 16, 18), WINDOW, 1),
    "by_twos": ((7, 9, 16, 8), WINDOW, 2),
}
VECTORS = {"one_step": (16, 4), "kept": (48, 12), "more": (64, 8), "many": (640, 8)}
# Rows and columns, channels, stride.
DEPTHWISE = {"fours": ((6, 5, 64), 1), "left": ((5, 9, 11), 2), "few": ((4, 6, 7), 1)}


def four_bits(given: Weights, axis: int, is_full: bool) -> Weights:
    """The same shape with weights from -7 to 7, and -8 of every other channel, or of all."""
    seeded = np.random.default_rng(given.type.shape[0])
    found = seeded.integers(-7, 8, given.type.shape).astype(np.int8)
    lower = np.moveaxis(found, axis, 0)[slice(None) if is_full else slice(1, None, 2)]
    lower[lower == -7] = -8
    return Weights(given.type, found)


def vector(name: str, out_zero: int = -128, is_full: bool = False) -> OpCase:
    depth, channels = VECTORS[name]
    x, out = int8(1, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(channels, depth, axis=0), 0, is_full)
    return op_case(
        f"helium_four_bits_{name}_to_{out_zero}{is_full * '_full'}",
        Dense(),
        [x],
        out,
        [w, int32_bias(channels)],
    )


def rows(name: str, out_zero: int = -128, is_full: bool = False) -> OpCase:
    (height, width, depth, channels), kernel, stride = SHAPES[name]
    x, out = int8(1, height, width, depth, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(channels, *kernel, depth, axis=0), 0, is_full)
    op = Conv2d(stride=(stride, stride), padding=SAME3 if kernel == WINDOW else ((0, 0), (0, 0)))
    return op_case(
        f"helium_four_bits_{name}_to_{out_zero}{is_full * '_full'}", op, [x], out, [w, int32_bias(channels)]
    )


def depthwise(name: str, out_zero: int = -128) -> OpCase:
    (height, width, channels), stride = DEPTHWISE[name]
    x, out = int8(1, height, width, channels, zero_point=3), int8(scale=0.05, zero_point=out_zero)
    w = four_bits(int8_weights(*WINDOW, channels, axis=2), 2, True)
    op = DepthwiseConv2d(stride=(stride, stride), padding=SAME3)
    label = f"helium_four_bits_depthwise_{name}_to_{out_zero}"
    return op_case(label, op, [x], out, [w, int32_bias(channels)])


CASES = [
    *(vector(name) for name in VECTORS),
    vector("more", 0),  # rounded away from zero
    *(rows(name) for name in SHAPES),
    rows("pairs", 0),
    *(vector(name, is_full=True) for name in VECTORS),
    *(rows(name, is_full=True) for name in SHAPES),
    *(depthwise(name) for name in DEPTHWISE),
    depthwise("fours", 0),
]


def kernel_of(graph: Graph, options: CompileOptions = OPTIONS["speed"]) -> Kernel:
    return only_stage(graph, MVE, options).kernel


def weights_of(graph: Graph) -> Array:
    name = graph.nodes[0].inputs[1]
    assert name is not None
    return graph.constants[name]


def with_weights(graph: Graph, weights: Array) -> Graph:
    name = graph.nodes[0].inputs[1]
    assert name is not None
    return replace(graph, constants={**graph.constants, name: weights})


@pytest.mark.slow
@pytest.mark.parametrize("each", CASES, ids=lambda each: str(each.name))
def test_every_case_has_two_weights_in_a_byte_and_equals_the_reference_in_loops(each):
    eight = with_weights(each.graph, np.where(weights_of(each.graph) == 7, 8, weights_of(each.graph)))
    sizes = [kernel_of(graph).constants["w"].nbytes for graph in (each.graph, eight)]
    assert sizes[0] < sizes[1]
    require_the_reference_in_loops(each, MVE)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("goal", ["speed", "size"])
def test_the_c_equals_the_reference(goal, compiler, tmp_path):
    checks = case_checks(CASES, MVE, goal)
    assert failures_on_board(checks, tmp_path / "checks", "mps3-an547", compiler[0]) == {}


def test_a_byte_has_the_weights_of_two_channels_or_of_a_lone_last_one():
    weights = np.array([[1, -7, 7], [-8, -8, 7], [-8, 2, 0]], np.int8)
    joined = in_bytes(WeightForm.JOINED, weights)
    assert joined.tolist() == [[16 - 8, -7 * 16 - 8, 7 * 16 + 7], [-8, 2, 0]]
    halves = in_bytes(WeightForm.NIBBLES, weights)
    assert halves.tolist() == [[16 + 8, -7 * 16 + 8, 7 * 16 + 7], [-8, 2, 0]]


def test_bytes_hold_all_sums_of_pairs_but_the_least_weight_beside_a_negative_one():
    forms = {(-8, 0): "JOINED", (-7, -8): "JOINED", (-8, -1): "NIBBLES", (8, 0): "BYTES"}
    for (a, b), form in forms.items():
        assert form_of(np.array([[a], [b]], np.int8)).name == form
    assert form_of(np.zeros((2, (1 << 16) + 1), np.int8)) is WeightForm.BYTES


@pytest.mark.parametrize(
    "each", [vector("more"), rows("pairs"), depthwise("fours")], ids=lambda each: str(each.name)
)
def test_weights_that_bytes_do_not_hold_have_eight_bits(each):
    weights = weights_of(each.graph).copy()
    weights.flat[0] = 8
    graph = with_weights(each.graph, weights)
    assert kernel_of(graph).constants["w"].size >= weights.size


def test_short_windows_have_four_bits_where_flash_is_the_goal():
    x, out = int8(1, 4, 6, 16, zero_point=3), int8(scale=0.05, zero_point=-128)
    w = four_bits(int8_weights(20, *POINT, 16, axis=0), 0, False)
    case = op_case("helium_four_bits_short", Conv2d(), [x], out, [w, int32_bias(20)])
    sizes = [kernel_of(case.graph, OPTIONS[goal]).constants["w"].size for goal in ("speed", "size")]
    assert sizes == [20 * 16, 20 * 16 // 2]
