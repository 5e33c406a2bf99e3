"""A dense layer over a vector in another order: its weights are put in that order, the vector is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Array, Graph, Node
from aot.ops.dense import Dense
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name
from aot.passes.origins import Places, origins


def permute_dense_weights(graph: Graph) -> Graph:
    """Rearrangements whose result nobody else reads are left to remove-dead-code."""
    for node in graph.nodes:
        if isinstance(node.op, Dense):
            graph = _past_rearrangement(node, graph)
    return graph


def _past_rearrangement(node: Node, graph: Graph) -> Graph:
    weights = node.inputs[1]
    if weights not in graph.constants or graph.types[node.reads[0]].shape[0] != 1:
        return graph
    *_, (source, places) = origins(graph, node.reads[0])
    if graph.types[source].elements != len(places) or np.array_equal(places, np.arange(len(places))):
        return graph
    if not np.array_equal(np.sort(places), np.arange(len(places))):
        return graph
    assert weights is not None
    return _permuted(node, graph, source, weights, places)


def _permuted(node: Node, graph: Graph, source: str, weights: str, places: Places) -> Graph:
    permuted: Array = np.empty_like(graph.constants[weights])
    permuted[:, places] = graph.constants[weights]
    w = fresh_name(f"{weights}/permuted", graph.types)
    vector = fresh_name(f"{node.name}/vector", graph.types)
    shape = graph.types[node.reads[0]].shape
    types = {w: graph.types[weights], vector: replace(graph.types[source], shape=shape)}
    name = fresh_name(vector, {other.name for other in graph.nodes})
    view = Node(name, Reshape(shape), (source,), (vector,), node.origin)
    dense = replace(node, inputs=(vector, w, *node.inputs[2:]))
    nodes = [n for other in graph.nodes for n in ((view, dense) if other is node else (other,))]
    return graph.with_nodes(nodes, types=types, constants={w: permuted})
