"""Gathering from a table of 256 entries, indexed by a stored byte, becomes a lookup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.text import type_text
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.convert import Convert
from aot.ops.lookup import Lookup
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.patterns.pattern import Match, is_op

_BYTES = (DType.I8, DType.U8)


def convert_gathers_to_lookups(graph: Graph) -> Outcome:
    """Handles file formats that express lookup tables with gather."""
    return rewrite(graph, is_op("gather"), _as_lookup, "nothing is gathered")


def _as_lookup(graph: Graph, found: Match) -> Node | Miss:
    node = graph.producers[found.value]
    entries, places = node.reads
    table = graph.types[entries]
    if entries not in graph.constants:
        return Miss(f'gathers from "{entries}", which is not a constant')
    if table.shape != (256,) or table.dtype not in _BYTES:
        return Miss(f'gathers from "{entries}": {type_text(table)}; a table has 256 entries of 8 bits')
    source = _byte_behind(places, graph)
    if source is None or graph.types[source].shape != graph.types[found.value].shape:
        return Miss(f'gathers at "{places}", which is not a stored byte counted from the smallest')
    return replace(node, op=Lookup(), inputs=(source, entries))


def _byte_behind(places: str, graph: Graph) -> str | None:
    """Returns the 8-bit value whose stored integers, with the smallest as 0, are the indices; or None."""
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
