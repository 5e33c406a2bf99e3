"""Winograd's convolutions equal the reference in every bit, and have flash for their weights or are left."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board
from graphs import Draft
from model_checks import DSP, OPTIONS, case_checks, only_stage, require_the_reference_in_loops
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.graph import Graph
from aot.ops.conv2d import Conv2d
from aot.passes.pipeline import run_meaning
from aot.target import MemoryRegion, Target
from codegen.fit.plan_job import plan_job
from codegen.fit.transformed_weights import layers_to_compact
from codegen.fit.variant import CompiledPlan
from codegen.isa.dsp.winograd import PAIRED
from codegen.job import ImportedModel, Job
from codegen.kernels.winograd import sums_fit, transformed
from codegen.lower.lower import lower_graph

SAME3 = ((1, 1), (1, 1))
SHAPES = {  # rows and columns of the input, its channels, those of the result
    "one_block": (2, 8, 8, 8),
    "two_blocks": (4, 16, 8, 10),
    "odd_pairs": (4, 8, 10, 8),
    "written_out_to_the_last": (2, 8, 32, 8),
    "in_turns": (2, 8, 40, 8),
    "turns_of_one": (2, 8, 34, 8),
}


def case(name: str, zero_point: int = -128, padding: object = SAME3, shape: str = "two_blocks") -> OpCase:
    rows, columns, depth, channels = SHAPES[shape]
    x, out = int8(1, rows, columns, depth, zero_point=zero_point), int8(scale=0.05, zero_point=-7)
    w, bias = int8_weights(channels, 3, 3, depth, axis=0), int32_bias(channels)
    return op_case(f"winograd_{name}", Conv2d(padding=padding), [x], out, [w, bias])  # type: ignore[arg-type]


CASES = [
    *(case(shape, shape=shape) for shape in SHAPES),
    case("above_and_left", 3, ((2, 0), (2, 0))),
    case("below_and_right", 127, ((0, 2), (0, 2))),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: str(each.name))
def test_every_case_is_a_winograd_kernel_of_two_rows(each):
    stage = only_stage(each.graph)
    assert stage.kernel.strategy == "winograd"
    assert stage.steps * 2 == stage.result.image_rows
    assert [len(reading.access.rows(0)) for reading in stage.reads] == [4]


@pytest.mark.parametrize("each", CASES[:3], ids=lambda each: str(each.name))
def test_the_loop_nest_equals_the_reference(each):
    require_the_reference_in_loops(each)


TARGETS = {
    "anywhere": DSP,
    "cache": replace(DSP, code_cache_bytes=1024),
    "in pairs": replace(DSP, pairs_instructions=True),
    "in pairs, cache": replace(DSP, pairs_instructions=True, code_cache_bytes=1024),
}


def extreme_cases() -> list[OpCase]:
    """Weights and pixels at the ends of their range, with the signs that make sums largest."""
    signs = {
        "equal": np.ones((8, 3, 3, 32)),
        "in_turn": np.where(np.indices((8, 3, 3, 32)).sum(0) % 2, 1, -1),
    }
    found = []
    for name, sign in signs.items():
        weights = int8_weights(8, 3, 3, 32, axis=0)
        largest = Weights(weights.type, (127 * sign).astype(np.int8))
        x, out = int8(1, 4, 8, 32, zero_point=-128), int8(scale=900.0, zero_point=0)
        found.append(op_case(f"winograd_{name}", Conv2d(padding=SAME3), [x], out, [largest, int32_bias(8)]))
    return found


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_c_equals_the_reference(compiler, target, tmp_path):
    checks = case_checks([*CASES, *extreme_cases()], target, "speed")
    assert failures_on_board(checks, tmp_path / "checks", compiler=compiler[0]) == {}


def test_transformed_weights_are_four_times_the_products_of_g():
    """A kernel with one weight, 1 in the middle, is G's middle column times itself."""
    weights = np.zeros((2, 3, 3, 2), np.int8)
    weights[1, 1, 1, 0] = 1
    u = transformed(weights, PAIRED).reshape(16, 2, 2)  # position, channel, depth
    assert not u[:, 0].any()
    assert not u[:, :, 1].any()
    assert u[:, 1, 0].reshape(4, 4).tolist() == np.outer([0, 1, -1, 0], [0, 1, -1, 0]).tolist()


def test_weights_whose_sums_may_leave_32_bits_go_another_way():
    assert sums_fit(np.full((2, 3, 3, 64), 127, np.int8))
    assert not sums_fit(np.full((2, 3, 3, 1024), 127, np.int8))


def test_sums_may_reach_the_ends_of_32_bits_and_go_no_further():
    """One weight: four times it in the middle product, which is in each result with values of 4 * 128."""
    weights = np.zeros((2, 3, 3, 2), np.int8)
    weights[0, 1, 1, 0] = 1
    most = 4 * 4 * 128  # of four positions of U, each of them 1, that a result takes
    assert sums_fit(weights, 2**31 - 1 - most)
    assert not sums_fit(weights, 2**31 - most)


@pytest.mark.parametrize("goal", ["ram", "size"])
def test_transformed_weights_are_for_speed_alone(goal):
    lowered = lower_graph(run_meaning(case("").graph).graph, DSP, OPTIONS[goal])
    (kernel,) = (stage.kernel for stage in lowered.stages if stage.op == "conv2d")
    reasons = {each.strategy: each.why for each in kernel.passed_over}
    assert reasons["winograd"] == "only for speed, where rows may be widened"


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (case("", shape="two_blocks"), ""),
        (case("", padding=((0, 0), (1, 1)), shape="odd_pairs"), ""),
        (case("", padding=((1, 0), (1, 1)), shape="odd_pairs"), "rows in pairs and columns in eights"),
        (case("", padding=((1, 1), (0, 0)), shape="odd_pairs"), "rows in pairs and columns in eights"),
    ],
)
def test_what_does_not_fit_is_reported(graph, why):
    kernel = only_stage(graph.graph).kernel
    reasons = {each.strategy: each.why for each in kernel.passed_over}
    assert reasons.get("winograd", "") == (f"only for {why}" if why else "")


def two_layers() -> Graph:
    """The second has four times the work of the first, and twice the weights."""
    d = Draft()
    first = d.conv("first", d.input("x", 1, 8, 8, 8), 16)
    return d.graph(d.conv("second", first, 16))


def planned(target: Target) -> CompiledPlan:
    return plan_job(
        Job(ImportedModel(two_layers(), "two.tflite", "ab" * 32, "two"), target, OPTIONS["speed"])
    )


def strategies_with(flash_bytes: int) -> dict[str, str]:
    target = replace(
        DSP,
        regions=(MemoryRegion("FLASH", 0, flash_bytes, "flash"), MemoryRegion("RAM", 1 << 29, 65536, "ram")),
    )
    lowered = planned(target).lowered
    return {stage.name.split()[-1]: stage.kernel.strategy for stage in lowered.stages if stage.op == "conv2d"}


def test_layers_give_transformed_weights_up_where_flash_is_short():
    assert strategies_with(1 << 20) == {"first": "winograd", "second": "winograd"}
    assert strategies_with(20_000) == {"first": "smlad", "second": "winograd"}
    assert strategies_with(4000) == {"first": "smlad", "second": "smlad"}


def test_without_a_known_flash_all_have_room():
    assert layers_to_compact(planned(DSP)) == frozenset()
