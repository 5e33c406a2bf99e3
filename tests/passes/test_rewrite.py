"""A graph is rewritten where a pattern holds, as often as it does, and what only matches needed goes."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.passes.mutator import rewrite
from aot.passes.outcome import Miss
from aot.patterns.pattern import Match, is_op

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


def test_a_value_is_rewritten_until_nothing_matches() -> None:
    graph, left = rewrite(parse_graph(THREE), TWO, always)
    assert [(node.name, node.inputs) for node in graph.nodes] == [("c", ("x",))]
    assert left == {}


def test_what_others_need_stays() -> None:
    graph, _ = rewrite(parse_graph(THREE + 'output "b"\n'), TWO, always)
    assert [(node.name, node.inputs) for node in graph.nodes] == [("b", ("x",)), ("c", ("x",))]


def test_a_match_that_is_refused_has_its_reason() -> None:
    graph, left = rewrite(parse_graph(THREE), TWO, unless_a)
    assert left == {"b": "stands on a", "c": "stands on a"}
    assert [(node.name, node.inputs) for node in graph.nodes] == [("a", ("x",)), ("c", ("a",))]


def test_a_rewriting_that_changes_nothing_ends() -> None:
    before = parse_graph(THREE)
    assert rewrite(before, TWO, lambda graph, _found: graph)[0] is before
