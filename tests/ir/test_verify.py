"""Each rule of the graph is broken once, and named."""

from dataclasses import replace

import numpy as np
import pytest

from aot.ir.graph import Graph, Node, State
from aot.ir.region import DeviceRegion
from aot.ir.types import DType, Quant, TensorType
from aot.ir.verify import RULES, GraphRuleError, verify
from aot.ops.binary import Add
from aot.ops.reshape import Reshape

X = TensorType(DType.I8, (1, 4), Quant((0.5,), (0,)))
GOOD = Graph(
    "good",
    inputs=("x",),
    outputs=("z",),
    nodes=(Node("twice", Add(), ("x", "x"), ("y",)), Node("more", Add(), ("y", "c"), ("z",))),
    types={"x": X, "y": X, "z": X, "c": X},
    constants={"c": np.array([[1, 2, 3, 4]], np.int8)},
)
FIRST, SECOND = GOOD.nodes
REGION = Node("r", DeviceRegion("npu", replace(GOOD, nodes=(SECOND, FIRST))), ("x",), ("z",))


def with_type(name: str, tensor: TensorType) -> Graph:
    return replace(GOOD, types={**GOOD.types, name: tensor})


BROKEN = {
    "every value that is used has a type": (
        replace(GOOD, types={"x": X, "y": X, "c": X}),
        '"z" has no type',
    ),
    "every value has one producer": (
        replace(GOOD, nodes=(FIRST, SECOND, replace(FIRST, name="again"))),
        '"y" has two producers',
    ),
    "a value is read after it is computed": (replace(GOOD, nodes=(SECOND, FIRST)), '"more" reads "y"'),
    "every value with a type is used": (with_type("lost", X), 'nothing uses "lost"'),
    "every node has a unique name": (
        replace(GOOD, nodes=(FIRST, replace(SECOND, name="twice"))),
        '"twice" (add)',
    ),
    "every dimension is at least 1": (
        with_type("y", TensorType(DType.I8, (1, 0), X.quant)),
        '"y" has shape (1, 0)',
    ),
    "quantization fits its tensor": (
        with_type("y", replace(X, quant=Quant((0.5, 0.25), (0, 0), 1))),
        '"y" has 2 scales for 4 indices',
    ),
    "constants have their declared type": (
        replace(GOOD, constants={"c": np.zeros((1, 4), np.int16)}),
        '"c" is int16(1, 4), declared i8(1, 4)',
    ),
    "a state, its initial value and its next value have one type": (
        replace(GOOD, inputs=(), states=(State("x", "z", np.zeros((4, 1), np.int8)),)),
        '"x" is int8(1, 4), its initial value is int8(4, 1)',
    ),
    "every node satisfies the constraints of its op": (
        replace(GOOD, nodes=(Node("twice", Reshape((3,)), ("x",), ("y",)), SECOND)),
        '"twice" (reshape): the number of elements must stay the same: 4 would become 3',
    ),
    "the graphs of regions and loops satisfy all rules": (
        replace(GOOD, nodes=(REGION,), types={"x": X, "z": X}, constants={}),
        'inside "good": a value is read after it is computed: "more" reads "y"',
    ),
    "declared types are those that the ops infer": (
        with_type("z", replace(X, shape=(4, 1))),
        "\"more\" (add) infers (('i8', (1, 4)),), declared (('i8', (4, 1)),)",
    ),
}


def test_every_rule_is_broken_here():
    assert list(BROKEN) == list(RULES)


def test_a_good_graph_passes():
    verify(GOOD)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named_with_the_fact(rule):
    graph, fact = BROKEN[rule]
    with pytest.raises(GraphRuleError) as caught:
        verify(graph)
    assert str(caught.value) == f'the graph breaks the rule "{rule}": {fact}'


@pytest.mark.parametrize(
    ("quant", "fact"),
    [
        (Quant((0.5, 0.5), (0,), 1), "has 2 scales, 1 zero points"),
        (Quant((0.5, 0.5), (0, 0)), "has 2 scales and no axis"),
        (Quant((0.5,) * 4, (0,) * 4, 2), "has axis 2 and 2 dimensions"),
    ],
)
def test_a_quantisation_that_does_not_fit_is_reported(quant, fact):
    with pytest.raises(GraphRuleError, match=fact):
        verify(with_type("x", replace(X, quant=quant)))


def test_floats_have_no_quantisation():
    with pytest.raises(GraphRuleError, match="is f32 and has a quantization"):
        verify(with_type("x", replace(X, dtype=DType.F32)))


def test_an_output_must_be_made():
    graph = replace(GOOD, nodes=(FIRST,), outputs=("y", "z"))
    with pytest.raises(GraphRuleError, match='output "z" has no producer'):
        verify(graph)
