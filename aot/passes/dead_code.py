"""Removes nodes whose results no node, caller or state needs."""

from __future__ import annotations

from aot.ir.graph import Graph, Node


def without_dead_code(graph: Graph) -> Graph:
    """Returns the same graph object if every node is needed. Unused inputs stay."""
    needed = set(graph.kept)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(reversed(kept))
