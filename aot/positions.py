"""Limits of positions: the indices that a run may write rows of caches at."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ops.binary import Add
from aot.ops.convert import Convert
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.write_rows import WriteRows

_MOVES = (Convert, Rearrange, Reshape)


def position_limits(graph: Graph) -> Mapping[str, tuple[int, int]]:
    """Returns, by input, the smallest and the largest position at which every cache has a row.

    A position that is computed from an input in another way than by adding a constant has no limits. If it is
    outside, no row is written.
    """
    found = dict[str, tuple[int, int]]()
    for node in graph.nodes:
        if not isinstance(node.op, WriteRows) or not node.op.by_index:
            continue
        cache, _, places = node.reads
        name, added = _source(graph, places)
        if name in graph.inputs and (graph.types[name].elements == 1 or added.max() == added.min()):
            size = graph.types[cache].shape[node.op.axis]
            low, high = found.get(name, (-size, size - 1))
            limits = -size - int(added.min()), size - 1 - int(added.max())
            found[name] = max(low, limits[0]), min(high, limits[1])
    return found


def _source(graph: Graph, value: str) -> tuple[str, Array]:
    """Returns the value that positions are computed from, and the constants that are added to it."""
    added: Array = np.zeros(1, np.int64)
    while (node := graph.producers.get(value)) is not None:
        constants = [v for v in node.reads if v in graph.constants]
        if isinstance(node.op, Add) and len(constants) == 1 and graph.types[value].quant is None:
            added = np.add.outer(added, graph.constants[constants[0]].astype(np.int64).reshape(-1)).reshape(
                -1
            )
            value = next(v for v in node.reads if v not in constants)
        elif isinstance(node.op, _MOVES):
            value = node.reads[0]
        else:
            break
    return value, added
