"""Mutators see each node once, in order; rewrites apply at each match; both say why others stay."""

from dataclasses import replace

import numpy as np

from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.text import parse_graph
from aot.ir.verify import verify
from aot.ir.visitor import Visitor
from aot.ops.binary import Add
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.passes.mutator import Change, Mutator, Same, rewrite
from aot.passes.outcome import Miss, Rewritten, Unchanged
from aot.patterns.pattern import Match, is_op

GRAPH = """\
graph "g"
input "x": f32[1,4]
"a" = unary_math() "x" -> "a": f32[1,4]
"b" = unary_math(of=negate) "a" -> "b": f32[1,4]
"c" = add() "b", "x" -> "y": f32[1,4]
output "y"
"""


class Names(Visitor):
    def __init__(self) -> None:
        self.math: list[str] = []
        self.others: list[str] = []

    def visit_unary_math(self, node: Node) -> None:
        assert node in self.graph.nodes
        self.math.append(node.name)

    def visit_node(self, node: Node) -> None:
        assert node in self.graph.nodes
        self.others.append(node.name)


def test_a_visitor_calls_the_method_of_each_op_in_order():
    seen = Names().visit(parse_graph(GRAPH))
    assert (seen.math, seen.others) == (["a", "b"], ["c"])


def test_a_visitor_sees_what_is_inside_a_region_before_the_region():
    inside = parse_graph(GRAPH)
    node = Node("npu", DeviceRegion("npu", inside), inside.inputs, inside.outputs)
    types = {name: inside.types[name] for name in ("x", "y")}
    seen = Names().visit(Graph("outside", ("x",), ("y",), (node,), types))
    assert (seen.math, seen.others) == (["a", "b"], ["c", "npu"])


class Leaving(Mutator):
    nothing = "nothing is done"

    def visit_unary_math(self, node: Node) -> Change:
        return Miss("stays")


def test_a_graph_in_which_nothing_changes_is_the_same_object():
    graph = parse_graph(GRAPH)
    answer = Leaving().mutate(graph)
    assert answer == Unchanged('"a" stays\n"b" stays', {"a": "stays", "b": "stays"})
    without = replace(graph, nodes=(), outputs=("x",), types={"x": graph.types["x"]})
    assert Leaving().mutate(without) == Unchanged("nothing is done", {})


class WithoutNegation(Mutator):
    def visit_unary_math(self, node: Node) -> Change:
        assert isinstance(node.op, UnaryMath)
        return Same(node.reads[0]) if node.op.of is MathFunction.NEGATE else node


def test_who_reads_a_removed_node_reads_what_it_stands_for():
    answer = WithoutNegation().mutate(parse_graph(GRAPH))
    assert isinstance(answer, Rewritten)
    verify(answer.graph)
    assert [(node.name, node.inputs) for node in answer.graph.nodes] == [("a", ("x",)), ("c", ("a", "x"))]
    assert "b" not in answer.graph.types


def test_an_output_of_the_graph_is_not_removed():
    text = GRAPH.replace('"b" = unary_math(of=negate) "a" -> "b"', '"b" = unary_math(of=negate) "a" -> "y"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith('"c"'))
    answer = WithoutNegation().mutate(parse_graph(text))
    because = 'computes "y", which is used outside of the graph'
    assert answer == Unchanged(f'"b" {because}', {"b": because})


class Doubled(Mutator):
    """x + x as 2 * x, in two nodes, one of which reads a new constant."""

    def visit_add(self, node: Node) -> Change:
        assert isinstance(node.op, Add)
        halves = self.constant("b", np.zeros((1, 4), np.float32))
        between = self.value("b", self.graph.types[node.outputs[0]])
        first = replace(node, name="first", inputs=(node.inputs[0], halves), outputs=(between,))
        return first, replace(node, inputs=(between, node.inputs[1]))


def test_several_nodes_may_stand_in_place_of_one_with_values_of_their_own():
    graph = parse_graph(GRAPH)
    answer = Doubled().mutate(graph)
    assert isinstance(answer, Rewritten)
    verify(answer.graph)
    assert answer.graph.nodes[-2].inputs == ("b", "b#2")
    assert answer.graph.nodes[-2].outputs == ("b#3",) or answer.graph.nodes[-2].outputs == ("b#2#3",)
    given = {"x": np.array([[1, -2, 3, -4]], np.float32)}
    np.testing.assert_array_equal(run_graph(answer.graph, given)["y"], run_graph(graph, given)["y"])


FIRST = is_op("reshape")
TWO = is_op("reshape")(FIRST)
THREE = """graph "net"
input "x": i8[1,6] {0.5, 0}
"a" = reshape(shape=[6, 1]) "x" -> "a": i8[6,1] {0.5, 0}
"b" = reshape(shape=[2, 3]) "a" -> "b": i8[2,3] {0.5, 0}
"c" = reshape(shape=[3, 2]) "b" -> "c": i8[3,2] {0.5, 0}
output "c"
"""


def always(graph: Graph, found: Match) -> Graph | Miss:
    last, first = graph.producers[found.value], graph.producers[found[FIRST]]
    return graph.with_nodes(replace(n, inputs=first.inputs) if n is last else n for n in graph.nodes)


def unless_a(graph: Graph, found: Match) -> Graph | Miss:
    return Miss("stands on a") if found[FIRST] == "a" else always(graph, found)


def test_a_value_is_rewritten_until_nothing_matches():
    graph, left = rewrite(parse_graph(THREE), TWO, always)
    assert [(node.name, node.inputs) for node in graph.nodes] == [("c", ("x",))]
    assert left == {}


def test_what_others_need_stays():
    graph, _ = rewrite(parse_graph(THREE + 'output "b"\n'), TWO, always)
    assert [(node.name, node.inputs) for node in graph.nodes] == [("b", ("x",)), ("c", ("x",))]


def test_a_match_that_is_refused_has_its_reason():
    graph, left = rewrite(parse_graph(THREE), TWO, unless_a)
    assert left == {"b": "stands on a", "c": "stands on a"}
    assert [(node.name, node.inputs) for node in graph.nodes] == [("a", ("x",)), ("c", ("a",))]


def test_a_rewriting_that_changes_nothing_ends():
    before = parse_graph(THREE)
    assert rewrite(before, TWO, lambda graph, _found: graph)[0] is before
