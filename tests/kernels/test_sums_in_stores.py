"""Residual sums are made in the store of the convolution before them where that is faster, bit for bit."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP, MVE, OPTIONS, PLAIN
from op_case import random_values
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import Target
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

NONE = ("add-in-stores",)


def planned(graph: Graph, target: Target, options: CompileOptions) -> CompiledPlan:
    return plan_job(Job(ImportedModel(graph, "g", "", "g"), target, options))


def random_inputs(graph: Graph) -> Mapping[str, Array]:
    rng = np.random.default_rng(3)
    return {name: random_values(rng, graph.types[name]) for name in graph.inputs}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "options", "sums"),
    [(DSP, "speed", 4), (DSP, "size", 0), (MVE, "speed", 0), (PLAIN, "speed", 0)],
)
def test_sums_are_in_stores_where_that_is_faster(target, options, sums):
    plan = planned(GRAPHS["sums_of_convolutions"](), target, OPTIONS[options])
    ops = [stage.op for stage in plan.lowered.stages]
    assert ops.count("conv2d+add") == sums
    assert ops.count("add") == 5 - sums
    assert ops.count("conv2d") == 7 - sums
    assert [node.op.name for node in plan.graph.nodes].count("conv2d+add") == sums


@pytest.mark.slow
@pytest.mark.parametrize("name", ["residual", "sums_of_convolutions"])
@pytest.mark.parametrize("disabled", [(), NONE])
def test_bits_are_the_same_with_the_pass_and_without(name, disabled):
    graph = GRAPHS[name]()
    plan = planned(graph, DSP, replace(OPTIONS["speed"], disabled_passes=disabled))
    assert any(stage.op == "conv2d+add" for stage in plan.lowered.stages) is not bool(disabled)
    inputs = random_inputs(graph)
    made, wanted = run_lowered(plan.lowered, inputs), run_graph(graph, inputs)
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)
    assert all(np.array_equal(run_graph(plan.graph, inputs)[value], wanted[value]) for value in graph.outputs)


def test_the_input_of_a_convolution_can_be_added_to_its_result():
    d = Draft()
    x = d.input("x", 1, 6, 8, 5)
    graph = d.graph(d.add("y", d.conv("a", x, 5), x))
    plan = planned(graph, DSP, OPTIONS["speed"])
    assert [stage.op for stage in plan.lowered.stages if stage.node is not None] == ["conv2d+add"]
    inputs = random_inputs(graph)
    assert np.array_equal(run_lowered(plan.lowered, inputs)["y"], run_graph(graph, inputs)["y"])


def test_a_plan_says_of_each_sum_why_it_stayed():
    d = Draft()
    x = d.input("x", 1, 8, 8, 8)
    plan = planned(d.graph(d.add("y", d.conv("a", x, 8), x)), DSP, OPTIONS["speed"])
    *_, step = plan.steps
    assert step.what.name == "add-in-stores"
    reason = 'adds the result of "node a" and is left alone, because the strategy winograd computes no sums'
    assert getattr(step.outcome, "because", "") == f'"node y" {reason}'


@pytest.mark.slow
def test_multiplications_are_those_of_the_convolution():
    plans = [
        planned(GRAPHS["residual"](), DSP, replace(OPTIONS["speed"], disabled_passes=disabled))
        for disabled in ((), NONE)
    ]
    with_sums, without = (
        {stage.name: stage.work for stage in plan.request.stages if stage.work} for plan in plans
    )
    assert with_sums == without
