"""The second factor of a product of matrices, transposed before it: the product reads it as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name
from aot.passes.origins import origins


def transposed_factors(graph: Graph) -> Graph:
    """Transpositions whose result nobody else reads are left to remove-dead-code."""
    for node in graph.nodes:
        if isinstance(node.op, BatchMatmul):
            graph = _past_transposition(node, node.op, graph)
    return graph


def _past_transposition(node: Node, op: BatchMatmul, graph: Graph) -> Graph:
    x, y = node.reads
    kind = graph.types[y]
    _, matrices, rows, columns = kind.shape
    swapped = np.arange(kind.elements).reshape(matrices, columns, rows).swapaxes(1, 2).reshape(-1)
    found = (source for source, places in origins(graph, y) if np.array_equal(places, swapped))
    source = next(found, None)
    if source is None or min(rows, columns) == 1 or graph.types[source].elements != kind.elements:
        return graph
    seen = fresh_name(f"{y}/untransposed", graph.types)
    shape = (1, matrices, columns, rows)
    view = Node(seen, Reshape(shape), (source,), (seen,), node.origin)
    product = replace(node, op=replace(op, y_transposed=not op.y_transposed), inputs=(x, seen))
    nodes = (n for other in graph.nodes for n in ((view, product) if other is node else (other,)))
    return graph.with_nodes(nodes, types={seen: replace(kind, shape=shape)})
