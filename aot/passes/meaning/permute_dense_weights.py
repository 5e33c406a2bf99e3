"""A dense layer that reads a rearranged vector gets permuted weights and reads the original vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array
from aot.ops.dense import Dense
from aot.ops.op import required
from aot.ops.reshape import Reshape
from aot.passes.mutator import rewrite_nodes
from aot.passes.outcome import Miss, Outcome
from aot.passes.values import Places, fresh_name, origins


def permute_dense_weights(graph: Graph) -> Outcome:
    return rewrite_nodes(graph, _past_rearrangement, "no dense layer reads a rearranged vector")


def _past_rearrangement(node: Node, graph: Graph) -> Graph | Miss | None:
    """Returns the graph with permuted weights, or why not; None if the vector is not rearranged."""
    if not isinstance(node.op, Dense):
        return None
    weights, vector = required(node.inputs[1]), node.reads[0]
    *_, (source, places) = origins(graph, vector)
    if np.array_equal(places, np.arange(graph.types[source].elements)):
        return None
    if weights not in graph.constants:
        return Miss("reads a rearranged vector, but its weights are computed")
    if graph.types[vector].shape[0] != 1:
        return Miss(f"reads {graph.types[vector].shape[0]} vectors, which are rearranged together")
    if not np.array_equal(np.sort(places), np.arange(graph.types[source].elements)):
        return Miss(f'reads some elements of "{source}" not at all, or several times')
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
