"""Outputs with as many rows as there can be, beside a count that says how many of them are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType

SUFFIX = "_count"  # of a count's name, behind the name of the result in the file


def counts_of(graph: Graph) -> dict[str, Node]:
    """The outputs that are counts, and the node that counts."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    found: dict[str, Node] = {}
    for name in graph.outputs:
        node = makers.get(name)
        while node is not None and node.op.name in ("rearrange", "reshape"):
            node = makers.get(node.inputs[0] or "")
        is_number = graph.types[name].dtype is DType.I32 and graph.types[name].elements == 1
        is_count = is_number and name.endswith(SUFFIX)
        if is_count and node is not None and node.op.name == "non_max_suppression":
            found[name] = node
    return found


def count_lines(graph: Graph) -> list[str]:
    return [
        f'  count      "{name}" says how many boxes "{node.name}" chooses, at most {_rows(graph, node):,}: '
        "rows behind those are 0"
        for name, node in counts_of(graph).items()
    ]


def _rows(graph: Graph, node: Node) -> int:
    from aot.ops.non_max_suppression import NonMaxSuppression

    assert isinstance(node.op, NonMaxSuppression)
    return node.op.rows(graph.types[node.inputs[1] or ""].shape)


def counted(counts: Iterable[str]) -> list[str]:
    """The results in the file that are counted."""
    return [name.removesuffix(SUFFIX) for name in counts]


def in_whole(graph: Graph, counts: Sequence[str], found: Mapping[str, Array]) -> tuple[Array, ...]:
    """The outputs of a runtime that gives the rows that are there, as this graph has them."""
    lengths = zip(counts, counted(counts), strict=True)
    made = {name: np.array([len(found[owner])], np.int32) for name, owner in lengths}
    return tuple(
        made[name] if name in made else _filled(found[name], graph.types[name].shape)
        for name in graph.outputs
    )


def _filled(array: Array, shape: tuple[int, ...]) -> Array:
    """The array with rows of 0 behind it, up to the whole shape."""
    if array.ndim != len(shape) or any(n > m for n, m in zip(array.shape, shape, strict=True)):
        return array
    return np.pad(array, [(0, m - n) for n, m in zip(array.shape, shape, strict=True)])
