"""Rules that the kernels of all cases keep: constants of the type they are stored as, no row kept in vain."""

import importlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from model_checks import DSP, OPTIONS, PLAIN
from op_case import OpCase, int8, int8_weights, op_case

from aot.ir.types import DType
from aot.ops import OPS
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.kernels.table import KERNELS
from codegen.loops.ir import Const, Role, Store, walk
from codegen.lower.lower import lower_graph
from codegen.lower.stages import Lowered

pytestmark = pytest.mark.slow

MOST_ELEMENTS = 2000  # of an input: larger ones take longer and say nothing else


def lowered_cases(op_name: str, target: Target = PLAIN) -> Iterator[tuple[OpCase, Lowered]]:
    cases: Sequence[OpCase] = importlib.import_module(
        f"{OPS[op_name].__module__.removeprefix('aot.ops.')}_cases"
    ).CASES
    for case in cases:
        types = [case.graph.types[name] for name in (*case.graph.inputs, *case.graph.outputs)]
        is_small = max(each.elements for each in types) <= MOST_ELEMENTS
        if case.node.op.name == op_name and is_small and {t.dtype for t in types} <= KERNELS[op_name].dtypes:
            yield case, lower_graph(run_meaning(case.graph).graph, target, OPTIONS["speed"])


@pytest.mark.parametrize("op_name", KERNELS)
def test_constants_have_the_type_of_what_they_are_stored_in(op_name):
    """C would convert them, and readers and MISRA's rules would ask why."""
    for case, lowered in lowered_cases(op_name):
        for proc in (proc for stage in lowered.stages for proc in stage.kernel.procs):
            for stmt in walk(proc.body):
                if isinstance(stmt, Store) and isinstance(stmt.value, Const):
                    is_real = stmt.place.buffer.dtype is DType.F32
                    assert isinstance(stmt.value.value, float) == is_real, (case.name, proc.name, stmt)


@pytest.mark.parametrize("op_name", KERNELS)
def test_only_constants_have_a_part_for_each_step(op_name):
    for case, lowered in lowered_cases(op_name):
        for kernel in (stage.kernel for stage in lowered.stages):
            assert set(kernel.row_tables) <= set(kernel.constants), case.name
            for name, elements in kernel.row_tables.items():
                assert kernel.constants[name].size % elements == 0, case.name


@pytest.mark.parametrize("op_name", KERNELS)
def test_what_steps_leave_for_the_next_has_room_for_its_elements(op_name):
    for case, lowered in lowered_cases(op_name):
        for kernel in (stage.kernel for stage in lowered.stages):
            if kernel.carried is not None:
                state = np.zeros(kernel.carried.state.elements, kernel.carried.state.dtype.numpy)
                assert kernel.carried.bytes == state.nbytes, case.name
            if kernel.accumulation is not None:
                sums = np.zeros(kernel.accumulation.elements, kernel.accumulation.dtype.numpy)
                assert kernel.accumulation.bytes == sums.nbytes, case.name


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
@pytest.mark.parametrize("op_name", KERNELS)
def test_no_row_is_kept_above_or_below_an_image_that_nothing_reads(op_name, target):
    for case, lowered in lowered_cases(op_name, target):
        for name, tensor in lowered.tensors.items():
            reads = [
                row
                for stage in lowered.stages
                for reading in stage.reads
                if reading.tensor == name and reading.view is None
                for step in range(stage.steps)
                for row in reading.access.rows(step)
            ]
            above, below = -min(reads, default=0), max(reads, default=0) + 1 - tensor.image_rows
            assert tensor.format.top <= max(0, above), (case.name, name)
            assert tensor.format.bottom <= max(0, below), (case.name, name)


@pytest.mark.parametrize("op_name", KERNELS)
def test_as_many_row_pointers_are_made_as_the_loops_read(op_name):
    for case, lowered in lowered_cases(op_name):
        for kernel in (stage.kernel for stage in lowered.stages if stage.kernel.calls is None):
            read = [buffer.rows for buffer in kernel.proc.params if buffer.role in (Role.ROWS, Role.INPUT)]
            made = [len(access.rows(0)) for access in kernel.access]
            assert made[: len(read)] == read, case.name


STRIDES = {
    (1, 1): "3x3, ",
    (2, 1): "3x3, stride 2x1, ",
    (1, 2): "3x3, stride 1x2, ",
    (2, 2): "3x3, stride 2x2, ",
}


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
@pytest.mark.parametrize(("stride", "said"), STRIDES.items())
def test_the_comment_above_a_convolution_tells_its_strides(stride, said, target):
    for op, weights in (
        (Conv2d(stride), int8_weights(3, 3, 3, 4, axis=0)),
        (DepthwiseConv2d(stride), int8_weights(3, 3, 4, axis=2)),
    ):
        case = op_case("strides", op, [int8(1, 7, 7, 4)], int8(), [weights])
        lowered = lower_graph(run_meaning(case.graph).graph, target, OPTIONS["speed"])
        (summary,) = (stage.kernel.summary for stage in lowered.stages if stage.node is not None)
        assert f": {said}" in summary
