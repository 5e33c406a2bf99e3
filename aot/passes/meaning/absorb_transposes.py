"""Matrix products read a transposed second operand in its original layout and transpose it themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.reshape import Reshape
from aot.passes.mutator import rewrite_nodes
from aot.passes.outcome import Miss, Outcome
from aot.passes.values import fresh_name, origins


def absorb_transposes(graph: Graph) -> Outcome:
    return rewrite_nodes(graph, _past_transposition, "no matrices are multiplied")


def _past_transposition(node: Node, graph: Graph) -> Graph | Miss | None:
    if not isinstance(node.op, BatchMatmul):
        return None
    x, y = node.reads
    kind = graph.types[y]
    _, matrices, rows, columns = kind.shape
    if min(rows, columns) == 1:
        return Miss("has a second factor of one row or one column, which is stored the same when transposed")
    swapped = np.arange(kind.elements).reshape(matrices, columns, rows).swapaxes(1, 2).reshape(-1)
    found = (source for source, places in origins(graph, y) if np.array_equal(places, swapped))
    source = next(found, None)
    if source is None or graph.types[source].elements != kind.elements:
        return Miss(f'has a second factor "{y}" that is not the transposition of another value')
    seen = fresh_name(f"{y}/untransposed", graph.types)
    shape = (1, matrices, columns, rows)
    view = Node(seen, Reshape(shape), (source,), (seen,), node.origin)
    product = replace(node, op=replace(node.op, y_transposed=not node.op.y_transposed), inputs=(x, seen))
    nodes = (n for other in graph.nodes for n in ((view, product) if other is node else (other,)))
    return graph.with_nodes(nodes, types={seen: replace(kind, shape=shape)})
