"""The first strategy that fits a site is chosen for it, once, and why those before it were not is kept."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from model_checks import DSP, MVE, OPTIONS, PLAIN, VECTORS, compiled
from op_case import OpCase, int8, int8_weights, int32_bias, op_case
from tiny_models import TINY

from aot.frontend.tflite.read import read_tflite
from aot.ir.graph import Graph
from aot.ir.types import TensorType
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.rounding import RequantRounding
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Optimize, Target
from boards.cores import load_core
from codegen.formats import RowFormat, dense_format
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.isa.table import isas, strategies_of
from codegen.kernels.kernel import Kernel, PassedOver, Site
from codegen.kernels.strategy import ChosenStrategy, Condition, RowFormats, Strategy, choose_strategy
from codegen.kernels.table import KERNELS
from codegen.lower.lower import lower_graph


def kernel_of(op_name: str, model: str, target: Target) -> Kernel:
    graph = run_meaning(read_tflite(TINY[model](), f"{model}.tflite", "tflm")).graph
    stages = lower_graph(graph, target, OPTIONS["speed"]).stages
    return next(stage.kernel for stage in stages if stage.op == op_name)


def test_why_better_strategies_were_passed_over_is_kept():
    kernel = kernel_of("conv2d", "conv", PLAIN)
    assert kernel.strategy == "plain"
    assert kernel.passed_over == (
        PassedOver("helium", "the core has no mve"),
        PassedOver("dsp", "the core has no dsp"),
        PassedOver("fpu", "the core has no fpu"),
        PassedOver("f32", "only for floats"),
        PassedOver("winograd", "only for rows in pairs and columns in fours or eights"),
        PassedOver("packed", "only for cores with many registers"),
    )
    assert kernel_of("conv2d", "conv", DSP).passed_over == (
        PassedOver("helium", "the core has no mve"),
        PassedOver("winograd", "only for rows in pairs and columns in eights"),
    )
    assert kernel_of("conv2d", "conv", MVE).passed_over == ()


def test_the_last_strategy_of_every_op_needs_nothing_special():
    for op_name, target in product(KERNELS, (PLAIN, MVE)):
        last = strategies_of(op_name, target)[-1]
        assert (last.needs, last.fits, last.takes) == (frozenset(), (), ()), op_name


def test_strategies_of_an_instruction_set_are_loaded_for_cores_that_have_it():
    code = (
        "import sys; from codegen.isa.table import strategies_of; from boards.cores import load_core;"
        "strategies_of('conv2d', load_core('cortex-m0plus').target());"
        "print(*(name for name in sys.modules if '.strategies.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_instruction_sets_have_strategies_for_ops_that_there_are():
    for isa in isas():
        assert set(isa.strategies) <= set(KERNELS)
        assert all(isa.needs <= strategy.needs for mine in isa.strategies.values() for strategy in mine)


def kernels(graph: Graph, target: Target) -> list[tuple[str, str]]:
    stages = lower_graph(graph, target, OPTIONS["speed"]).stages
    return [(stage.kernel.strategy, stage.kernel.why) for stage in stages]


Rounded = Callable[[RequantRounding], OpCase]
ROUNDED: dict[str, Rounded] = {
    "point": lambda how: _rounded(Conv2d(rounding=how), int8(1, 4, 6, 16), (16, 1, 1, 16), 0),
    "window": lambda how: _rounded(Conv2d(rounding=how), int8(1, 5, 7, 3), (6, 3, 3, 3), 0),
    "dense": lambda how: _rounded(Dense(rounding=how), int8(1, 32), (8, 32), 0),
    "depthwise": lambda how: _rounded(DepthwiseConv2d(rounding=how), int8(1, 5, 7, 8), (3, 3, 8), 2),
    "deep": lambda how: _rounded(DepthwiseConv2d(rounding=how), int8(1, 9, 7, 8), (6, 1, 8), 2),
}


def _rounded(op: Op, x: TensorType, weights: tuple[int, ...], axis: int) -> OpCase:
    bias = int32_bias(weights[axis])
    return op_case(
        "rounded", op, [x], int8(scale=0.2, zero_point=-5), [int8_weights(*weights, axis=axis), bias]
    )


@pytest.mark.parametrize("case", ROUNDED)
@pytest.mark.parametrize(("target", "requantised"), [(DSP, ""), (MVE, "rounded_once("), (VECTORS, "_once(")])
def test_sums_rounded_once_have_the_kernels_of_sums_rounded_twice(case, target, requantised):
    twice, once = (ROUNDED[case](how).graph for how in (RequantRounding.DOUBLE, RequantRounding.SINGLE))
    assert kernels(once, target) == kernels(twice, target)
    text = compiled(once, target, OPTIONS["speed"], "model").sources["model.c"]
    assert requantised in text
    assert not requantised or "to_int8" not in text


CASE = op_case("sum", Add(), [int8(1, 3, 5, 4)] * 2, int8())
ROWS = dense_format(int8(1, 3, 5, 4))
GAPLESS = Condition[RowFormats]("rows without gaps", lambda rows: rows.output.left == 0)


def made_up(name: str, **rules: Any) -> Strategy:
    (plain,) = KERNELS["add"].strategies

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return replace(plain.lower(site, inputs, output), strategy=name)

    return Strategy(name, plain.requests, lower, **rules)


def chosen(*strategies: Strategy) -> ChosenStrategy:
    node, graph = CASE.node, CASE.graph
    goal = Optimize.SPEED
    types = graph.input_types(node), graph.output_types(node)
    site = Site(node, *types, {}, DSP, PORTABLE, goal, True, {})
    return choose_strategy(strategies, site)


def test_rows_that_a_strategy_does_not_take_go_to_the_next_that_fits():
    odd = made_up("odd", fits=(Condition[Site]("odd sites", lambda site: False),))
    pair = chosen(made_up("gapless", takes=(GAPLESS,)), odd, made_up("any"), made_up("never seen"))
    assert [strategy.name for strategy in pair.fitting] == ["gapless", "any"]
    assert pair.lower(pair.site, [ROWS, ROWS], ROWS).strategy == "gapless"
    kernel = pair.lower(pair.site, [ROWS, ROWS], replace(ROWS, left=1))
    assert kernel.strategy == "any"
    assert kernel.passed_over == (PassedOver("gapless", "only for rows without gaps"),)


def test_a_core_that_lacks_a_need_is_passed_over():
    needy = made_up("needy", needs=frozenset({Feature.DSP, Feature("magic"), Feature.MVE}))
    assert chosen(needy, made_up("any")).passed_over == (PassedOver("needy", "the core has no magic, mve"),)


def test_a_list_whose_last_strategy_may_refuse_is_an_error():
    with pytest.raises(AssertionError, match="add: the last strategy must fit everywhere"):
        chosen(made_up("gapless", takes=(GAPLESS,)))


def test_strategies_of_another_kind_of_processor_are_not_spoken_of():
    names = {
        passed.strategy for passed in kernel_of("conv2d", "conv", load_core("rv32imac").target()).passed_over
    }
    assert "rvv" in names
    assert not names & {"helium", "smlad"}
