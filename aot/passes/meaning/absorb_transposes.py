"""Matrix products read a transposed second operand in its original layout and transpose it themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.reshape import Reshape
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite, with_replaced
from aot.passes.values import fresh_name, origins
from aot.patterns.pattern import Match, is_op


def absorb_transposes(graph: Graph) -> Outcome:
    return rewrite(graph, is_op("batch_matmul"), _past_transposition, "no matrices are multiplied")


def _past_transposition(graph: Graph, found: Match) -> Graph | Miss:
    node = graph.producers[found.value]
    op, (x, y) = node.op_as(BatchMatmul), node.reads
    kind = graph.types[y]
    _, matrices, rows, columns = kind.shape
    if min(rows, columns) == 1:
        return Miss("has a second factor of one row or one column, which is stored the same when transposed")
    swapped = np.arange(kind.elements).reshape(matrices, columns, rows).swapaxes(1, 2).reshape(-1)
    sources = (source for source, places in origins(graph, y) if np.array_equal(places, swapped))
    source = next(sources, None)
    if source is None or graph.types[source].elements != kind.elements:
        return Miss(f'has a second factor "{y}" that is not the transposition of another value')
    seen = fresh_name(f"{y}/untransposed", graph.types)
    shape = (1, matrices, columns, rows)
    view = Node(seen, Reshape(shape), (source,), (seen,), node.origin)
    product = replace(node, op=replace(op, y_transposed=not op.y_transposed), inputs=(x, seen))
    return with_replaced(graph, node, view, product, types={seen: replace(kind, shape=shape)})
