"""Visitors see each node once, in order; rewrites apply at each match, and say why others stay."""

from dataclasses import replace

import numpy as np

from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.text import parse_graph
from aot.ir.verify import verify
from aot.ir.visitor import Visitor
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.passes.outcome import Miss, Rewritten, Unchanged
from aot.passes.rewrite import Change, Same, rewrite, with_replaced
from aot.passes.values import NewValues
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


MATH = is_op("unary_math")


def test_a_graph_in_which_nothing_changes_is_the_same_object():
    graph = parse_graph(GRAPH)
    answer = rewrite(graph, MATH, lambda graph, found: Miss("stays"))
    assert answer == Unchanged('"a" stays\n"b" stays', {"a": "stays", "b": "stays"})
    without = replace(graph, nodes=(), outputs=("x",), types={"x": graph.types["x"]})
    assert rewrite(without, MATH, lambda graph, found: None, "nothing is done") == Unchanged(
        "nothing is done"
    )


def without_negation(graph: Graph, found: Match) -> Change:
    node = graph.producers[found.value]
    return Same(node.reads[0]) if node.op_as(UnaryMath).of is MathFunction.NEGATE else None


def test_who_reads_a_removed_node_reads_what_it_stands_for():
    answer = rewrite(parse_graph(GRAPH), MATH, without_negation)
    assert isinstance(answer, Rewritten)
    verify(answer.graph)
    assert [(node.name, node.inputs) for node in answer.graph.nodes] == [("a", ("x",)), ("c", ("a", "x"))]
    assert "b" not in answer.graph.types


def test_an_output_of_the_graph_is_not_removed():
    text = GRAPH.replace('"b" = unary_math(of=negate) "a" -> "b"', '"b" = unary_math(of=negate) "a" -> "y"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith('"c"'))
    because = 'computes "y", which is used outside of the graph'
    answer = rewrite(parse_graph(text), MATH, without_negation)
    assert answer == Unchanged(f'"b" {because}', {"b": because})


def doubled(graph: Graph, found: Match) -> Graph:
    """x + x as 2 * x, in two nodes, one of which reads a new constant."""
    node, new = graph.producers[found.value], NewValues(graph)
    kind = graph.types[found.value]
    halves = new.constant("b", kind, np.zeros((1, 4), np.float32))
    between = new.value("b", kind)
    first = replace(node, name="first", inputs=(node.inputs[0], halves), outputs=(between,))
    last = replace(node, inputs=(between, node.inputs[1]))
    return with_replaced(graph, node, first, last, types=new.types, constants=new.constants)


def test_several_nodes_may_stand_in_place_of_one_with_values_of_their_own():
    graph = parse_graph(GRAPH)
    answer = rewrite(graph, is_op("add"), doubled)
    assert isinstance(answer, Rewritten)
    verify(answer.graph)
    first, last = answer.graph.nodes[-2:]
    assert (first.inputs, last.inputs) == (("b", "b#2"), ("b#3", "x"))
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


def test_a_match_sees_what_earlier_changes_left():
    answer = rewrite(parse_graph(THREE), TWO, always)
    assert isinstance(answer, Rewritten)
    assert [(node.name, node.inputs) for node in answer.graph.nodes] == [("c", ("x",))]
    assert answer.left_alone == {}


def test_what_others_need_stays():
    answer = rewrite(parse_graph(THREE + 'output "b"\n'), TWO, always)
    assert isinstance(answer, Rewritten)
    assert [(node.name, node.inputs) for node in answer.graph.nodes] == [("b", ("x",)), ("c", ("x",))]


def test_a_match_that_is_refused_has_its_reason():
    answer = rewrite(parse_graph(THREE), TWO, unless_a)
    assert isinstance(answer, Rewritten)
    assert answer.left_alone == {"b": "stands on a"}
    assert [(node.name, node.inputs) for node in answer.graph.nodes] == [("a", ("x",)), ("c", ("a",))]


def test_a_node_that_an_earlier_change_replaced_is_not_visited():
    def renamed(graph: Graph, found: Match) -> Graph:
        nodes = [replace(n, name=f"{n.name}!") if n.name in ("a", "b") else n for n in graph.nodes]
        return graph.with_nodes(nodes)

    answer = rewrite(parse_graph(THREE), is_op("reshape"), renamed)
    assert isinstance(answer, Rewritten)
    assert [node.name for node in answer.graph.nodes] == ["a!", "b!", "c"]


def test_a_change_of_single_nodes_knows_producers_and_readers():
    graph = parse_graph(THREE)
    c = graph.nodes[-1]
    for changed in ({"b": None, "c": replace(c, inputs=("a",))}, {"c": replace(c, inputs=("x",))}):
        quick = graph.with_changed(changed)
        slow = graph.with_nodes(n for each in graph.nodes if (n := changed.get(each.name, each)))
        assert (quick.nodes, quick.producers) == (slow.nodes, slow.producers)
        assert {value: quick.readers[value] for value in slow.types} == slow.readers


def test_a_rewriting_that_changes_nothing_leaves_the_graph():
    before = parse_graph(THREE)
    answer = rewrite(before, TWO, lambda graph, found: graph.producers[found.value], "no two")
    assert answer == Unchanged("no two")
