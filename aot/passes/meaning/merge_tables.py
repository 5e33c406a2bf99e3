"""Two consecutive element-wise 8-bit ops become one table of 256 results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.ops.lookup import Lookup
from aot.ops.table import table_of
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.values import fresh_name, needed_elsewhere


def merge_tables(graph: Graph) -> Outcome:
    """Merges chains of any length: each merge leaves a lookup that can be merged with the next table."""
    before, index, left = graph, 0, dict[str, str]()
    while index < len(graph.nodes):
        node = graph.nodes[index]
        first = _table_before(node, graph)
        if isinstance(first, Node):
            graph = _merged(first, node, graph)
            continue
        index += 1
        if first is not None:
            left[node.name] = first.because
    return outcome(before, graph, left, "no table of 8-bit values follows another")


def _table(node: Node, graph: Graph) -> Array | None:
    constants = [None if name is None else graph.constants.get(name) for name in node.inputs]
    return table_of(node.op, constants, graph.input_types(node), graph.output_types(node))


def _source(node: Node, graph: Graph) -> str:
    return next(name for name in node.reads if name not in graph.constants)


def _table_before(node: Node, graph: Graph) -> Node | Miss | None:
    """Returns the producing table op, or why the two cannot be merged; None if no such pair exists."""
    if _table(node, graph) is None:
        return None
    value = _source(node, graph)
    first = graph.producers.get(value)
    if first is None or _table(first, graph) is None:
        return None
    return needed_elsewhere(graph, value) or first


def _merged(first: Node, second: Node, graph: Graph) -> Graph:
    inner, outer = _table(first, graph), _table(second, graph)
    assert inner is not None
    assert outer is not None
    (between,) = graph.output_types(first)
    table: Array = outer[inner.astype(np.int64) - between.dtype.limits[0]]
    name = fresh_name(f"{second.outputs[0]}/table", graph.types)
    lookup = replace(
        second,
        op=Lookup(),
        inputs=(_source(first, graph), name),
        origin=", ".join(origin for origin in (first.origin, second.origin) if origin),
    )
    nodes = [lookup if node is second else node for node in graph.nodes if node is not first]
    (out,) = graph.output_types(second)
    return graph.with_nodes(
        nodes, types={name: TensorType(out.dtype, table.shape, out.quant)}, constants={name: table}
    )
