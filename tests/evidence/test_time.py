"""Time is measured on inputs that differ as much as they can; what depends on data is named."""

import numpy as np
import pytest
from strict_archives import artifact, changed

from aot.ir.tensor_spec import TensorSpec
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.subject import Subject
from deploy.proving.sum_range import sum_range
from deploy.proving.time import RunTimes, adversarial_inputs, examine_time, times_of_layers
from platforms.board_files import load_board
from platforms.cycles.estimate import BlockCost, Cycles

pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.fixture
def examined(require_tool, require_package):
    require_tool("arm-none-eabi-gcc")
    require_package("capstone", "unicorn")
    return examine_time


def run_of(blocks: dict[int, BlockCost], cycles: int) -> RunTimes:
    whole = Cycles(sum(cost.executions for cost in blocks.values()), {"other": cycles})
    return RunTimes(whole, {3: whole}, {3: blocks})


def test_a_bound_holds_for_every_mixture_of_ways():
    one_way = run_of({0x10: BlockCost(8, 2), 0x20: BlockCost(8, 5)}, 8 * 2 + 8 * 4)
    other_way = run_of({0x10: BlockCost(8, 3), 0x30: BlockCost(8, 1)}, 8 * 3 + 8)
    found = times_of_layers((one_way, other_way))[3]
    assert (found.least, found.most) == (32, 48)
    assert found.bound == 8 * 3 + 8 * 5 + 8 * 1
    assert found.varying == (0x20, 0x30)
    alike = times_of_layers((one_way, one_way))[3]
    assert (alike.bound, alike.depends_on_data) == (48, False)


def test_inputs_reach_the_ends_of_the_first_layer():
    made = artifact("dense")
    spec = TensorSpec(made.facts.inputs[0].name, made.facts.inputs[0].type)
    found = adversarial_inputs(made.graph, [spec])
    assert len(found) == 7
    sums = sum_range(made.graph, made.graph.nodes[0])
    assert sums is not None
    for words, expected in (("greatest", sums.greatest.max()), ("least", sums.least.min())):
        (array,) = found[f"the {words} sum of the first layer"]
        reached = sums.weights @ (array.reshape(-1).astype(np.int64) - sums.zero_point) + sums.bias
        assert expected in reached
    assert found["zeros"][0].max() == sums.zero_point


@pytest.mark.arm
def test_comparisons_of_values_are_all_that_depends_on_data(examined):
    """An average is rounded away from zero, and an exponential is shifted by where its sum lies."""
    found = examined(Subject(artifact("classifier", CompileOptions()), load_board("mps2-an386")))
    assert found.verdict is Standing.EXCEPTIONS
    pool, softmax, unproven = found.exceptions
    assert ", average_pool2d: " in pool
    assert "jumps in average_pool2d_4x4_6_by_1_finish" in pool
    assert ", softmax: " in softmax
    assert "exp_of_negative" in softmax
    assert unproven.endswith("rests on the inputs that were tried, and is not proven")
    inputs, layers = found.tables
    assert len(inputs.rows) == 7
    for row in layers.rows:
        least, most, bound = (int(cell) for cell in row[5:8])
        assert least <= most <= bound
        depends = row[1] in ("softmax", "average_pool2d")
        assert row[-1] == ("yes" if depends else "no difference found")
        assert (least == most == bound) != depends


@pytest.mark.arm
def test_a_loop_that_depends_on_data_is_named(examined):
    made = artifact("dense", CompileOptions())
    line = "for (volatile int32_t turns = in->features[0] + 128; turns > 0; --turns) { }"
    code = changed(made, r"(\n    dense_0\()", f"\n    {line}\\1")
    found = examined(Subject(code, load_board("mps2-an386")))
    named = [each for each in found.exceptions if "jumps in dense_run" in each]
    assert len(named) == 1
    assert "time depends on data" in found.summary


def test_what_has_no_cycles_is_said():
    made = artifact("dense")
    assert examine_time(Subject(made)).summary.startswith("no board")
    assert examine_time(Subject(made, load_board("host"))).verdict is Standing.NOT_RUN
    found = examine_time(Subject(made, load_board("feather-s2")))
    assert found.verdict is Standing.NOT_RUN
