"""Rewrites a graph at each match of a pattern."""

from __future__ import annotations

from collections.abc import Callable

from aot.ir.graph import Graph
from aot.passes.outcome import Miss, Reasons
from aot.patterns.pattern import Match, Pattern, match

Rewriting = Callable[[Graph, Match], Graph | Miss]


def rewrite(graph: Graph, pattern: Pattern, rewriting: Rewriting) -> tuple[Graph, Reasons]:
    """Returns the graph after all rewritings, and why matches were left alone, by the node of their value.

    `rewriting` returns a graph that computes the value of a match differently, or the reason why not. Values
    are visited in graph order, each until the pattern no longer matches. Nodes of a match that are no longer
    read are removed.
    """
    left: dict[str, str] = {}
    for value in [each for node in graph.nodes for each in node.outputs]:
        for _ in range(len(graph.nodes)):  # a rewriting may create another match, but not forever
            found = match(pattern, graph, value) if value in graph.producers else None
            if found is None:
                break
            answer = rewriting(graph, found)
            if isinstance(answer, Miss):
                left[graph.producers[value].name] = answer.because
                break
            graph = _without_unread(answer, found)
    return graph, left


def _without_unread(graph: Graph, found: Match) -> Graph:
    for node in reversed(found.nodes):
        if not any(value in graph.kept or graph.readers.get(value) for value in node.outputs):
            graph = graph.with_nodes(other for other in graph.nodes if other.name != node.name)
    return graph
