"""Every kernel equals its op's reference in every bit: as a loop nest, as C here, and on five cores."""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from avr_checks import AVR, failure_on_avr
from awkward import LARGE, awkward_cases, work
from c_checks import failures_on_board, failures_on_host
from model_checks import DSP, MVE, OPTIONS, PLAIN, VECTORS, case_checks, samples_of
from op_case import OpCase
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.types import DType
from aot.ops import OPS
from aot.passes.pipeline import run_meaning
from codegen.kernels.table import KERNELS
from codegen.lower.lower import lower_graph
from codegen.lower.stages import LoweredStage

IN_LOOPS, IN_LOOPS_MACS = 4, 1500  # a product takes the interpreter some microseconds
IN_C, IN_C_MACS = 24, 20_000
ON_AVR, ON_AVR_MACS = 1, 4000  # and as many of those written: each case is a program of its own
NOT_IN_AVR_LIBC = {"round_mantissa": "rintf"}  # the compiler names what is missing; nothing is wrong
# Where memory is to be saved, some kernels read narrower rows; where code is, tiles are for any shape.
OTHER_GOALS = [
    *((op_name, "ram") for op_name in ("conv2d", "dense", "depthwise_conv2d")),
    *((op_name, "size") for op_name in ("conv2d", "depthwise_conv2d")),
]
ON_BOARD = [*((op_name, "speed") for op_name in KERNELS), *OTHER_GOALS]
TARGETS = (PLAIN, DSP, MVE, VECTORS)
WITH_VECTORS_OF_RISCV = ("conv2d", "dense", "depthwise_conv2d")
WITH_VECTORS = (
    *("add", "average_pool2d", "conv2d", "dense", "depthwise_conv2d"),
    *("hybrid_dense", "recurrent", "sub"),
)
ON_VECTORS = [*((op_name, "speed") for op_name in WITH_VECTORS), *OTHER_GOALS]
# One rounding for each result, or none.
EXACT_ON_REALS = (
    "add",
    "blobs",
    "clamp",
    "concat",
    "dequantize",
    "detect",
    "hybrid_dense",
    "in_own_steps",
    "leaky_relu",
    "measured_range",
    "mul",
    "round_mantissa",
    "pad",
    "rearrange",
    "sub",
)


def cases_of(op_name: str) -> list[OpCase]:
    """Those of tests/ops."""
    stem = OPS[op_name].__module__.removeprefix("aot.ops.")
    cases: Sequence[OpCase] = importlib.import_module(f"{stem}_cases").CASES
    return [case for case in cases if case.node.op.name == op_name]


def written_cases(op_name: str) -> list[OpCase]:
    """Those of tests/ops, as far as they have a kernel."""
    return [case for case in cases_of(op_name) if has_kernel(case)]


def has_kernel(case: OpCase) -> bool:
    """Sums of floats have no bits to be equal in: test_f32_kernels.py has them."""
    types = case.graph.types
    in_every_bit = types["y"].dtype is not DType.F32 or case.node.op.name in EXACT_ON_REALS
    return in_every_bit and {types["x0"].dtype, types["y"].dtype} <= KERNELS[case.node.op.name].dtypes


def all_cases(op_name: str) -> list[OpCase]:
    return [*written_cases(op_name), *LARGE.get(op_name, ()), *awkward_cases(op_name, IN_C, IN_C_MACS)]


def small_cases(op_name: str) -> list[OpCase]:
    """A few of each kind; all that are written where no others are made."""
    written = [case for case in written_cases(op_name) if work(case) <= IN_LOOPS_MACS]
    made = awkward_cases(op_name, IN_LOOPS, IN_LOOPS_MACS)
    return [*written[: IN_LOOPS if made else None], *made]


@pytest.mark.parametrize("op_name", KERNELS)
def test_every_kernel_has_small_cases(op_name):
    results = {case.graph.types["y"].dtype for case in cases_of(op_name)}
    has_floats_only = KERNELS[op_name].dtypes == {DType.F32} or results == {DType.F32}
    assert small_cases(op_name) or has_floats_only  # test_f32_kernels.py has those


def what_is_executed(stage: LoweredStage) -> tuple[object, ...]:
    """All of a stage but what it could have been: its reasons, its knobs, the node."""
    kernel = replace(stage.kernel, constants={}, strategy="", why="", space=None, passed_over=())
    constants = [(name, values.dtype, values.tolist()) for name, values in stage.kernel.constants.items()]
    return kernel, constants, stage.reads, stage.results


@pytest.mark.parametrize("op_name", KERNELS)
def test_loop_nests_for_each_target_equal_the_reference(op_name):
    """Many kernels are the same for several targets and goals: each is run once."""
    for case in small_cases(op_name):
        meant = run_meaning(case.graph).graph
        samples = [(inputs, run_graph(case.graph, inputs)["y"]) for inputs in samples_of(case)]
        tried: list[object] = []
        for target, goal in product(TARGETS, ("speed", "ram")):
            lowered = lower_graph(meant, target, OPTIONS[goal])
            executed = [what_is_executed(stage) for stage in lowered.stages]
            if executed in tried:
                continue
            tried.append(executed)
            for inputs, wanted in samples:
                made = run_lowered(lowered, inputs)["y"]
                assert np.array_equal(made, wanted), f"{case.name} for {target.core}, {goal}"


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("op_name", KERNELS)
def test_portable_c_equals_the_reference(op_name, tmp_path):
    checks = case_checks(all_cases(op_name), PLAIN, "speed")
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(("op_name", "options"), ON_BOARD)
def test_dsp_c_equals_the_reference(op_name, options, tmp_path):
    checks = case_checks(all_cases(op_name), DSP, options)
    assert failures_on_board(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(("op_name", "options"), ON_VECTORS)
def test_mve_c_equals_the_reference(op_name, options, tmp_path):
    checks = case_checks(all_cases(op_name), MVE, options)
    assert failures_on_board(checks, tmp_path / "checks", "mps3-an547") == {}


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("op_name", WITH_VECTORS_OF_RISCV)
def test_c_of_riscv_s_vectors_equals_the_reference(op_name, require_tool, require_package, tmp_path):
    require_package("ziglang")
    require_tool("qemu-system-riscv32")
    checks = case_checks(all_cases(op_name), VECTORS, "speed")
    assert failures_on_board(checks, tmp_path / "checks", "qemu-riscv32-vectors") == {}


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("op_name", KERNELS)
def test_kernels_in_c_equal_their_reference_where_an_int_has_16_bits(
    op_name, tmp_path, tmp_path_factory, require_tool
):
    require_tool("avr-gcc", "simavr")
    machine = tmp_path_factory.getbasetemp() / "simavr_machine"
    written = [case for case in written_cases(op_name) if work(case) <= ON_AVR_MACS]
    cases = [*written[:ON_AVR], *awkward_cases(op_name, ON_AVR, ON_AVR_MACS)]
    if op_name in NOT_IN_AVR_LIBC:
        with pytest.raises(AssertionError, match=f"declaration of function .{NOT_IN_AVR_LIBC[op_name]}"):
            failure_on_avr(case_checks(cases[:1], AVR, "speed")[0], tmp_path, machine)
        return
    for number, check in enumerate(case_checks(cases, AVR, "speed")):
        assert failure_on_avr(check, tmp_path / str(number), machine) == "", check.name
