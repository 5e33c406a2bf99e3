"""A table of 256 entries gathered from by a stored integer of 8 bits is a lookup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.convert import Convert
from aot.ops.gather import Gather
from aot.ops.lookup import Lookup
from aot.passes.remove_dead_code import remove_dead_code

_BYTES = (DType.I8, DType.U8)


def tables_of_gathers(graph: Graph) -> Graph:
    """So a file says it that has no operator for tables."""
    nodes = [_as_lookup(node, graph) or node for node in graph.nodes]
    return graph if nodes == list(graph.nodes) else remove_dead_code(graph.with_nodes(nodes))


def _as_lookup(node: Node, graph: Graph) -> Node | None:
    if not isinstance(node.op, Gather):
        return None
    entries, places = node.reads
    table = graph.types[entries]
    if entries not in graph.constants or table.shape != (256,) or table.dtype not in _BYTES:
        return None
    source = _counted_from_least(places, graph)
    if source is None or graph.types[source].shape != graph.types[node.outputs[0]].shape:
        return None
    return replace(node, op=Lookup(), inputs=(source, entries))


def _counted_from_least(places: str, graph: Graph) -> str | None:
    """The value of 8 bits whose stored integers, the least of them as 0, these are."""
    added, node = 0, graph.producers.get(places)
    if node is not None and isinstance(node.op, Add) and node.op.activation is Activation.NONE:
        numbers = [name for name in node.reads if name in graph.constants]
        found = np.unique(graph.constants[numbers[0]]) if len(numbers) == 1 else np.zeros(0)
        if found.size != 1:
            return None
        (value,) = (name for name in node.reads if name not in numbers)
        added, node = int(found[0]), graph.producers.get(value)
    if node is None or not isinstance(node.op, Convert) or node.op.of_bits:
        return None
    if node.op.to not in (DType.I32, DType.I64):
        return None
    (source,) = node.reads
    dtype = graph.types[source].dtype
    return source if dtype in _BYTES and added == -dtype.limits[0] else None
