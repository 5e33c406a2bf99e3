"""Rewrites a graph at each match of a pattern: the one engine of passes, of the tree and of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.values import rename_reads
from aot.patterns.pattern import Match, Pattern, match


@dataclass(frozen=True, slots=True)
class Same:
    """Removes a node: readers of its only result read `value` instead."""

    value: str


# What becomes of a match: another node that computes its value, no node, or another graph. A Miss is the
# reason why it stays; None leaves it without a reason.
Change = Graph | Node | Same | Miss | None


def rewrite(
    graph: Graph,
    pattern: Pattern,
    rewriting: Callable[[Graph, Match], Change],
    no_candidate: str = "there is no node of its kind",
) -> Outcome:
    """Returns the result of a pass that changes the matches of a pattern.

    The nodes of the graph are visited once, in order, as earlier changes left them. Nodes that are no longer
    read are removed at the end. `no_candidate` is the reason if nothing matches.
    """
    before, left = graph, dict[str, str]()
    for each in before.nodes:
        found = _match_at(each, pattern, graph)
        change = None if found is None else rewriting(graph, found)
        if found is None or change is None:
            continue
        node = graph.producers[found.value]
        if isinstance(change, Same) and found.value in graph.kept:
            change = Miss(f'computes "{found.value}", which is used outside of the graph')
        if isinstance(change, Miss):
            left[node.name] = change.because
        elif isinstance(change, Same):
            graph = with_renamed(graph, {found.value: change.value}, {node.name: None})
        elif isinstance(change, Graph):
            graph = change
        elif change != node:
            graph = graph.with_changed({node.name: change})
    after = graph if graph is before else graph.with_nodes(_needed(graph))
    return outcome(before, after, left, no_candidate)


def _match_at(node: Node, pattern: Pattern, graph: Graph) -> Match | None:
    """Returns the match at the node's first result that has one; None if an earlier change replaced it."""
    makers = ((value, graph.producers.get(value)) for value in node.outputs)
    present = (value for value, maker in makers if maker is not None and maker.name == node.name)
    return next((found for value in present if (found := match(pattern, graph, value))), None)


def with_replaced(
    graph: Graph,
    node: Node,
    *nodes: Node,
    types: Mapping[str, TensorType] | None = None,
    constants: Mapping[str, Array] | None = None,
) -> Graph:
    """Returns the graph with these nodes in the place of one, and what they add to its values."""
    return graph.with_nodes(
        (new for old in graph.nodes for new in (nodes if old is node else (old,))), types, constants
    )


def with_renamed(graph: Graph, renamed: Mapping[str, str], changed: Mapping[str, Node | None]) -> Graph:
    """Returns the graph with changed nodes, in which readers of a value read the one it is renamed to."""
    readers = {node.name: node for value in renamed for node in graph.readers[value]}
    others = zip(readers, rename_reads(readers.values(), renamed), strict=True)
    return graph.with_changed({**dict(others), **changed})


def without_dead_code(graph: Graph) -> Graph:
    """Returns the same graph object if every node is needed. Unused inputs stay."""
    kept = _needed(graph)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(kept)


def _needed(graph: Graph) -> list[Node]:
    """Returns the nodes whose results reach an output or a state."""
    needed = set(graph.kept)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    return kept[::-1]
