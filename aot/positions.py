"""Limits of indices: the values of an input for which every reader has an element or a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array
from aot.ops.binary import Add
from aot.ops.compare import Compare, Relation
from aot.ops.convert import Convert
from aot.ops.gather import Gather, GatherNd
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.write_rows import WriteRows

_MOVES = (Convert, Rearrange, Reshape)
_Limits = tuple[int, int]


def position_limits(graph: Graph) -> Mapping[str, _Limits]:
    """Returns, by input, the smallest and the largest position at which every cache has a row.

    A position that is computed from an input in another way than by adding a constant has no limits. If it is
    outside, no row is written.
    """
    found = dict[str, _Limits]()
    for node in graph.nodes:
        for places, limits in _written(graph, node):
            name, added = _source(graph, places)
            if graph.types[name].elements == 1 or added.max() == added.min():
                _narrow(found, graph, name, added, limits)
    return found


def index_limits(graph: Graph) -> Mapping[str, _Limits]:
    """Returns, by input, the smallest and the largest value that selects something in every reader.

    Random inputs stay inside. A run accepts others, but runtimes that judge its results may refuse them.
    """
    found = dict[str, _Limits]()
    for node in graph.nodes:
        for places, limits in (*_written(graph, node), *_selected(graph, node)):
            _narrow(found, graph, *_source(graph, places), limits)
    return {name: (low, high) for name, (low, high) in found.items() if low <= high}


def _narrow(found: dict[str, _Limits], graph: Graph, name: str, added: Array, limits: _Limits) -> None:
    """Narrows the limits of the value `name` so that, with each constant added, it is within these."""
    if name in graph.inputs:
        low, high = limits[0] - int(added.min()), limits[1] - int(added.max())
        before = found.get(name, (low, high))
        found[name] = max(before[0], low), min(before[1], high)


def _written(graph: Graph, node: Node) -> Iterator[tuple[str, _Limits]]:
    """Yields the positions of rows that are written, with their limits."""
    if isinstance(node.op, WriteRows) and node.op.by_index:
        cache, _, places = node.reads
        size = graph.types[cache].shape[node.op.axis]
        yield places, (-size, size - 1)


def _selected(graph: Graph, node: Node) -> Iterator[tuple[str, _Limits]]:
    """Yields the indices that a node selects elements with, with their limits."""
    op = node.op
    if isinstance(op, Gather):
        x, places = node.reads
        yield places, (0, graph.types[x].shape[op.axis] - 1)
    elif isinstance(op, GatherNd):
        x, places = node.reads
        yield places, (0, min(graph.types[x].shape[: graph.types[places].shape[-1]], default=1) - 1)
    elif isinstance(op, Compare) and op.relation is Relation.EQUAL:
        yield from _compared(graph, node)
    elif isinstance(op, Select):
        yield from _counted_from_end(graph, node)


def _compared(graph: Graph, node: Node) -> Iterator[tuple[str, _Limits]]:
    """Yields a value that is compared with several integers, as one-hot rows are made."""
    known, others = _split(graph, node)
    if known is None or graph.types[others[0]].quant is not None or known.dtype.kind not in "iu":
        return
    if known.size and known.min() < known.max():
        yield others[0], (int(known.min()), int(known.max()))


def _counted_from_end(graph: Graph, node: Node) -> Iterator[tuple[str, _Limits]]:
    """Yields x of x < 0 ? x + size : x, which counts from the end if it is negative."""
    condition, below, x = node.reads
    is_below, turned = graph.producers.get(condition), graph.producers.get(below)
    if is_below is None or not isinstance(is_below.op, Compare) or is_below.op.relation is not Relation.LESS:
        return
    if turned is None or not isinstance(turned.op, Add) or is_below.reads[0] != x:
        return
    zero, (size, others) = graph.constants.get(is_below.reads[1]), _split(graph, turned)
    if zero is None or zero.any() or size is None or others != [x] or size.dtype.kind != "i":
        return
    if size.size and size.min() == size.max() > 0:
        yield x, (-int(size.max()), int(size.max()) - 1)


def _split(graph: Graph, node: Node) -> tuple[Array | None, list[str]]:
    """Returns the constant that a node of two operands reads, or None, and the other operands."""
    constants = [v for v in node.reads if v in graph.constants]
    others = [v for v in node.reads if v not in graph.constants]
    return graph.constants[constants[0]] if len(constants) == len(others) == 1 else None, others


def _source(graph: Graph, value: str) -> tuple[str, Array]:
    """Returns the value that positions are computed from, and the constants that are added to it."""
    added: Array = np.zeros(1, np.int64)
    while (node := graph.producers.get(value)) is not None:
        known, others = _split(graph, node)
        if isinstance(node.op, Add) and known is not None and graph.types[value].quant is None:
            added = np.add.outer(added, known.astype(np.int64).reshape(-1)).reshape(-1)
            (value,) = others
        elif isinstance(node.op, _MOVES):
            value = node.reads[0]
        else:
            break
    return value, added
