"""A dense layer that reads a rearranged vector gets permuted weights and reads the original vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array
from aot.ops.reshape import Reshape
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite, with_replaced
from aot.passes.values import NewValues, Places, fresh_name, origins
from aot.patterns.pattern import Match, is_op


def permute_dense_weights(graph: Graph) -> Outcome:
    return rewrite(graph, is_op("dense"), _past_rearrangement, "no dense layer reads a rearranged vector")


def _past_rearrangement(graph: Graph, found: Match) -> Graph | Miss | None:
    """Returns the graph with permuted weights, or why not; None if the vector is not rearranged."""
    node = graph.producers[found.value]
    vector, weights = node.reads[:2]
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
    new, shape = NewValues(graph), graph.types[node.reads[0]].shape
    w = new.constant(f"{weights}/permuted", graph.types[weights], permuted)
    vector = new.value(f"{node.name}/vector", replace(graph.types[source], shape=shape))
    name = fresh_name(vector, {other.name for other in graph.nodes})
    view = Node(name, Reshape(shape), (source,), (vector,), node.origin)
    dense = replace(node, inputs=(vector, w, *node.inputs[2:]))
    return with_replaced(graph, node, view, dense, types=new.types, constants=new.constants)
