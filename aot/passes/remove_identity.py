"""Nodes that give exactly what they were given are removed."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ops.activation import Activation
from aot.ops.pooling import Pool2d
from aot.ops.quantize import Quantize
from aot.ops.reshape import Reshape
from aot.passes.names import rename_reads


def remove_identity(graph: Graph) -> Graph:
    """One node after the other; the type, quantisation included, has to be the same on both sides."""
    index = 0
    while index < len(graph.nodes):
        node = graph.nodes[index]
        slimmer = _without(node, graph) if _is_identity(node, graph) else graph
        index += 1 if slimmer is graph else 0
        graph = slimmer
    return graph


def _is_identity(node: Node, graph: Graph) -> bool:
    if graph.input_types(node) != graph.output_types(node):
        return False
    if isinstance(node.op, Pool2d):
        return node.op.size == (1, 1) and node.op.activation is Activation.NONE
    return isinstance(node.op, Reshape | Quantize)


def _without(node: Node, graph: Graph) -> Graph:
    (source,), (result,) = node.reads, node.outputs
    others = [other for other in graph.nodes if other is not node]
    if result not in graph.kept:
        return graph.with_nodes(rename_reads(others, {result: source}))
    # An output keeps its name, so its maker has to take the name over - if it may.
    if source not in graph.producers or source in graph.kept:
        return graph
    renamed = rename_reads(others, {source: result})
    return graph.with_nodes(replace(n, outputs=_renamed(n.outputs, source, result)) for n in renamed)


def _renamed(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)
