"""Kernels whose rows have no padding: the same bits, whatever the window hangs over."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from model_checks import DSP, OPTIONS, PLAIN, case_checks, samples_of
from op_case import OpCase, int8, int8_weights, int32_bias, op_case
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.target import Target
from codegen.kernels.conv2d import Columns, columns_of
from codegen.lower.decisions import Decisions
from codegen.lower.lower import lower_graph
from codegen.lower.stages import Lowered

OUT = int8(scale=0.03, zero_point=-7)
ZERO_POINTS = (-128, 127, 0, 5)
# Width, kernel columns, stride, dilation, padding to the left and to the right.
WINDOWS = (
    (1, 3, 1, 1, (1, 1)),
    (2, 3, 1, 1, (1, 1)),
    (3, 3, 1, 1, (1, 1)),
    (5, 3, 1, 1, (1, 1)),
    (8, 3, 1, 1, (1, 1)),
    (13, 3, 1, 1, (1, 0)),
    (3, 3, 2, 1, (1, 1)),
    (6, 3, 2, 1, (0, 1)),
    (9, 3, 2, 1, (1, 1)),
    (12, 3, 2, 1, (1, 1)),
    (7, 5, 1, 1, (2, 2)),
    (6, 4, 2, 1, (1, 2)),
    (9, 3, 1, 2, (2, 2)),
    (8, 3, 1, 3, (3, 1)),
    (4, 3, 1, 1, (3, 3)),
    (5, 2, 3, 1, (0, 1)),
)
CHANNELS = (8, 1, 4, 7, 3, 16, 5, 17)
ON_BOARD = (
    ("depthwise", "arm-none-eabi-gcc", 32),
    ("conv2d", "arm-none-eabi-gcc", 32),
    ("depthwise", "zig", 10),
)
STEP = 5  # of all combinations the loop interpreter takes every fifth


def depthwise(number: int, channels: int, window: Sequence[int], padding: tuple[int, int]) -> OpCase:
    width, taps, stride, dilation = window
    op = DepthwiseConv2d((stride, stride), (dilation, dilation), ((1, 1), padding))
    x = int8(1, 2 * dilation + 2, width, channels, zero_point=ZERO_POINTS[number % 4])
    w = int8_weights(3, taps, channels, axis=2, seed=number)
    return op_case(f"depthwise_{number}", op, [x], OUT, [w, int32_bias(channels)])


def conv2d(number: int, channels: int, window: Sequence[int], padding: tuple[int, int]) -> OpCase:
    width, taps, stride, dilation = window
    filters = (3, 4, 5)[number % 3]
    op = Conv2d((stride, stride), (dilation, dilation), ((1, 0), padding))
    x = int8(1, 2 * dilation + 2, width, channels, zero_point=ZERO_POINTS[number % 4])
    w = int8_weights(filters, 3, taps, channels, axis=0, seed=number)
    return op_case(f"conv2d_{number}", op, [x], OUT, [w, int32_bias(filters)])


KINDS = {"depthwise": depthwise, "conv2d": conv2d}
# Where rows have no padding at the sides: strategies that have no edges read rows with padding.
WITH_EDGES = {("depthwise", "dsp"): DSP, ("conv2d", "dsp"): DSP, ("conv2d", "plain"): PLAIN}


def cases(kind: str) -> Iterator[OpCase]:
    for number, (channels, (*window, padding)) in enumerate(product(CHANNELS, WINDOWS)):
        assert isinstance(padding, tuple)
        yield KINDS[kind](number, channels, window, padding)


def unpadded(case: OpCase, target: Target) -> Lowered:
    one = frozenset({case.node.name})
    return lower_graph(case.graph, target, OPTIONS["ram"], Decisions(unpadded=one, frugal=one))


def has_padding(lowered: Lowered) -> bool:
    (stage,) = (stage for stage in lowered.stages if stage.node is not None)
    read = lowered.tensors[stage.reads[0].tensor].format
    return read.left > 0 or read.row_elements >= (read.width + 1) * read.channels


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "target"), WITH_EDGES.items(), ids=map("-".join, WITH_EDGES))
def test_loops_without_margins_equal_the_reference(kind, target):
    some = list(cases(kind[0]))[::STEP]
    without = 0
    for case in some:
        lowered = unpadded(case, target)
        without += not has_padding(lowered)
        for inputs in samples_of(case):
            made = run_lowered(lowered, inputs)["y"]
            assert np.array_equal(made, run_graph(case.graph, inputs)["y"]), case
    assert without > len(some) // 4


def test_no_row_beyond_the_image_is_in_memory():
    for case in [*cases("conv2d")][::STEP]:
        formats = [tensor.format for tensor in unpadded(case, PLAIN).tensors.values()]
        assert not any(fmt.top or fmt.bottom for fmt in formats)


@pytest.mark.cc
@pytest.mark.slow
def test_portable_c_without_margins_equals_the_reference(tmp_path):
    checks = case_checks([*cases("conv2d")][:32], PLAIN, "ram")
    assert _with_edges(checks) > 15
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "compiler", "most"), ON_BOARD)
def test_dsp_c_without_margins_equals_the_reference(
    kind, compiler, most, require_tool, require_package, tmp_path
):
    require_tool(*([] if compiler == "zig" else [compiler]))
    require_package(*(["ziglang"] if compiler == "zig" else []))
    checks = case_checks([*cases(kind)][:most], DSP, "ram")
    assert _with_edges(checks) > most // 4
    assert failures_on_board(checks, tmp_path / "checks", compiler=compiler) == {}


def _with_edges(checks: Sequence[object]) -> int:
    """How many kernels leave taps out or take padding from a register."""
    texts = ["".join(check.files.values()) for check in checks]  # type: ignore[attr-defined]
    return sum("_bias_0" in text or "_outside_" in text for text in texts)


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((5, 5, 3, 1, 1, 1), [(0, 1, 1, 3), (1, 3, 0, 3), (4, 1, 0, 2)]),
        ((6, 3, 3, 2, 1, 0), [(0, 2, 0, 3), (2, 1, 0, 2)]),
        ((1, 1, 3, 1, 1, 1), [(0, 1, 1, 2)]),
        ((8, 8, 3, 1, 3, 3), [(0, 3, 1, 3), (3, 2, 0, 3), (5, 3, 0, 2)]),
        (
            (4, 8, 3, 1, 1, 3),
            [
                (0, 1, 3, 3),
                (1, 1, 2, 3),
                (2, 1, 1, 3),
                (3, 2, 0, 3),
                (5, 1, 0, 2),
                (6, 1, 0, 1),
                (7, 1, 0, 0),
            ],
        ),
    ],
)
def test_columns_know_the_taps_that_they_have_inside(shape, found):
    columns = [Columns(first, count, range(start, stop)) for first, count, start, stop in found]
    assert list(columns_of(*shape)) == columns
