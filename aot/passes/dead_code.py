"""Nodes whose results nobody needs: neither another node, nor the caller, nor a state."""

from __future__ import annotations

from aot.ir.graph import Graph, Node


def without_dead_code(graph: Graph) -> Graph:
    """The same graph object where every node is needed. Inputs that nothing reads stay."""
    needed = set(graph.kept)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(reversed(kept))
