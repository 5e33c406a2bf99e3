"""Two consecutive element-wise 8-bit ops become one table of 256 results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.ops.lookup import Lookup, table_of
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import fresh_name, needed_elsewhere
from aot.patterns.pattern import Match, wildcard


def merge_tables(graph: Graph) -> Outcome:
    """Merges chains of any length: each merge leaves a lookup that can be merged with the next table."""
    return rewrite(graph, wildcard(), _after_table, "no table of 8-bit values follows another")


def _after_table(graph: Graph, found: Match) -> Graph | Miss | None:
    """Returns the graph in which the node reads what the table before it reads, if there is such a pair."""
    node = graph.producers[found.value]
    outer = _table(node, graph)
    first = None if outer is None else graph.producers.get(_source(node, graph))
    inner = None if first is None else _table(first, graph)
    if first is None or inner is None or outer is None:
        return None
    return needed_elsewhere(graph, first.outputs[0]) or _merged(first, inner, node, outer, graph)


def _table(node: Node, graph: Graph) -> Array | None:
    constants = [None if name is None else graph.constants.get(name) for name in node.inputs]
    return table_of(node.op, constants, graph.input_types(node), graph.output_types(node))


def _source(node: Node, graph: Graph) -> str:
    return next(name for name in node.reads if name not in graph.constants)


def _merged(first: Node, inner: Array, second: Node, outer: Array, graph: Graph) -> Graph:
    (between,), (out,) = graph.output_types(first), graph.output_types(second)
    table: Array = outer[inner.astype(np.int64) - between.dtype.limits[0]]
    name = fresh_name(f"{second.outputs[0]}/table", graph.types)
    origin = ", ".join(origin for origin in (first.origin, second.origin) if origin)
    lookup = replace(second, op=Lookup(), inputs=(_source(first, graph), name), origin=origin)
    kind = TensorType(out.dtype, table.shape, out.quant)
    return graph.with_changed({first.name: None, second.name: lookup}, {name: kind}, {name: table})
