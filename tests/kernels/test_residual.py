"""Which residual sums are made in the store of the convolution before them."""

from __future__ import annotations

import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP, MVE, OPTIONS, PLAIN

from aot.ir.graph import Graph
from aot.target import Target
from codegen.kernels.residual import sums_in_stores
from codegen.lower.lower import lower_graph


def makers(graph: Graph) -> dict[str, str]:
    """sum -> the convolution that makes it, by the values they make."""
    by_name = {node.name: node.outputs[0] for node in graph.nodes}
    return {by_name[sum_]: node.outputs[0] for sum_, node in sums_in_stores(graph).items()}


def test_the_later_of_two_convolutions_makes_the_sum() -> None:
    d = Draft()
    x = d.input("x", 1, 5, 5, 4)
    a = d.conv("a", x, 4)
    assert makers(d.graph(d.add("y", d.conv("b", x, 4), a))) == {"y": "b"}


def test_a_convolution_that_others_read_keeps_its_result() -> None:
    d = Draft()
    x = d.input("x", 1, 5, 5, 4)
    a = d.conv("a", x, 4)
    assert makers(d.graph(d.add("y", a, x), d.conv("z", a, 2))) == {}
    assert makers(d.graph(d.add("w", a, x), a)) == {}


def test_a_result_added_to_itself_is_left_alone() -> None:
    d = Draft()
    a = d.conv("a", d.input("x", 1, 5, 5, 4), 4)
    assert makers(d.graph(d.add("y", a, a))) == {}


def test_a_sum_that_repeats_an_operand_is_left_alone() -> None:
    d = Draft()
    x, bias = d.input("x", 1, 5, 5, 4), d.input("bias", 1, 1, 1, 4)
    assert makers(d.graph(d.add("y", d.conv("a", x, 4), bias))) == {}


@pytest.mark.parametrize(
    ("target", "options", "sums"),
    [(DSP, "speed", 4), (DSP, "ram", 0), (DSP, "size", 0), (MVE, "speed", 0), (PLAIN, "speed", 0)],
)
def test_sums_are_in_stores_where_that_is_faster(target: Target, options: str, sums: int) -> None:
    lowered = lower_graph(GRAPHS["sums_of_convolutions"](), target, OPTIONS[options])
    ops = [stage.op for stage in lowered.stages]
    assert ops.count("conv2d+add") == sums
    assert ops.count("add") == 5 - sums
    assert ops.count("conv2d") == 7 - sums
