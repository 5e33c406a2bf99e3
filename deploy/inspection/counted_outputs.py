"""Outputs with the maximum number of rows, and a separate count of the valid ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType

SUFFIX = "_count"  # name suffix of the count that belongs to a result in the file


def counts_of(graph: Graph) -> dict[str, Node]:
    """Returns the outputs that are counts, with the nodes that compute them."""
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
        f'  count      "{name}" is the number of boxes that "{node.name}" chooses, at most '
        f"{_rows(graph, node):,}: "
        "later rows are 0"
        for name, node in counts_of(graph).items()
    ]


def _rows(graph: Graph, node: Node) -> int:
    from aot.ops.non_max_suppression import NonMaxSuppression

    return node.op_as(NonMaxSuppression).rows(graph.types[node.inputs[1] or ""].shape)


def counted(counts: Iterable[str]) -> list[str]:
    """Returns the results in the file that have counts."""
    return [name.removesuffix(SUFFIX) for name in counts]


def in_whole(graph: Graph, counts: Sequence[str], found: Mapping[str, Array]) -> tuple[Array, ...]:
    """Converts the outputs of a runtime with variable row counts to this graph's format."""
    lengths = zip(counts, counted(counts), strict=True)
    made = {name: np.array([len(found[owner])], np.int32) for name, owner in lengths}
    return tuple(
        made[name] if name in made else _filled(found[name], graph.types[name].shape)
        for name in graph.outputs
    )


def _filled(array: Array, shape: tuple[int, ...]) -> Array:
    """Pads an array with zero rows at the end, up to the full shape."""
    if array.ndim != len(shape) or any(n > m for n, m in zip(array.shape, shape, strict=True)):
        return array
    return np.pad(array, [(0, m - n) for n, m in zip(array.shape, shape, strict=True)])
