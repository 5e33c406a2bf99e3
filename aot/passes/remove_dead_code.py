"""Nodes whose results reach no output are removed."""

from __future__ import annotations

from aot.ir.graph import Graph, Node


def remove_dead_code(graph: Graph) -> Graph:
    """Inputs that nothing reads stay: they are part of the model's interface."""
    needed = set(graph.kept)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(reversed(kept))
