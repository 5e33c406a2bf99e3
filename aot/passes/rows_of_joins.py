"""Flattened images that are joined to one vector: joined row behind row, so that none need be whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from aot.ir.graph import Array, Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat, behind
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name
from aot.passes.rows_of_rearrangements import viewed

_FEWEST_BYTES = 4  # of a row that nobody asked for


def rows_of_joins(graph: Graph) -> Graph:
    """A vector made of what has rows has rows, too: those that its reader sees, or the longest there are."""
    for node in graph.nodes:
        if _joins_images(node, graph):
            graph = _seen_by_reader(node, graph) or _seen_as_vector(node, graph) or graph
    return graph


def _joins_images(node: Node, graph: Graph) -> bool:
    """Whether it makes a vector, not all out of vectors or of what is there before the run."""
    if not isinstance(node.op, Concat):
        return False
    shape = graph.types[node.outputs[0]].shape
    if node.op.axis != len(shape) - 1 or prod(shape[:-1]) > 1:
        return False
    roots = [viewed(value, graph) for value in node.reads]
    return any(
        root in graph.producers and _row_elements(root, graph) < graph.types[root].elements for root in roots
    )


def _row_elements(value: str, graph: Graph) -> int:
    shape = graph.types[value].shape
    return prod(shape[2:]) if len(shape) == 4 and shape[0] == 1 else prod(shape[-1:])


def _seen_by_reader(node: Node, graph: Graph) -> Graph | None:
    """Joined as the only reader looks at it."""
    (made,) = node.outputs
    readers = graph.readers[made]
    if made in graph.kept or len(readers) != 1 or not isinstance(readers[0].op, Reshape):
        return None
    (seen,) = readers[0].outputs
    shape = graph.types[seen].shape
    axis = next((a for a in range(len(shape)) if shape[a] > 1), 0)
    inner, sizes = prod(shape[axis + 1 :]), [graph.types[value].elements for value in node.reads]
    parts = [(*shape[:axis], size // inner, *shape[axis + 1 :]) for size in sizes]
    # One of several images is an image again, and its rows lie along another axis.
    if any(size % inner for size in sizes) or not all(behind(axis, part) for part in parts):
        return None
    joined = replace(node, op=Concat(axis), outputs=(seen,))
    return _joined(joined, graph.types[seen], graph, instead_of=(node, readers[0]))


def _seen_as_vector(node: Node, graph: Graph) -> Graph | None:
    (made,) = node.outputs
    if made in graph.kept:
        return None  # whoever wants it takes no view of it
    kind = graph.types[made]
    row = gcd(*(_row_elements(viewed(value, graph), graph) for value in node.reads))
    if row * kind.dtype.bytes < _FEWEST_BYTES or row == kind.elements:
        return None
    rows = replace(kind, shape=(1, kind.elements // row, row))
    name = fresh_name(f"{made}/rows", graph.types)
    joined = replace(node, op=Concat(1), outputs=(name,))
    back = Node(f"{node.name}/vector", Reshape(kind.shape), (name,), (made,), node.origin)
    return _joined(joined, rows, graph, instead_of=(node,), followed_by=(back,))


def _joined(
    node: Node, kind: TensorType, graph: Graph, instead_of: Sequence[Node], followed_by: Sequence[Node] = ()
) -> Graph:
    """With views of the inputs that have the result's rows; constants have them at once."""
    assert isinstance(node.op, Concat)
    axis, inner = node.op.axis, prod(kind.shape[node.op.axis + 1 :])
    views: list[Node] = []
    names: list[str] = []
    types: dict[str, TensorType] = {node.outputs[0]: kind}
    constants: dict[str, Array] = {}
    for value in node.reads:
        own, name = graph.types[value], fresh_name(f"{value}/rows", graph.types, types)
        shape = (*kind.shape[:axis], own.elements // inner, *kind.shape[axis + 1 :])
        names.append(name)
        types[name] = replace(own, shape=shape)
        if value in graph.constants:
            constants[name] = graph.constants[value].reshape(shape)
        else:
            views.append(Node(name, Reshape(shape), (viewed(value, graph),), (name,), node.origin))
    made = [*views, replace(node, inputs=tuple(names)), *followed_by]
    nodes = [
        n
        for other in graph.nodes
        for n in (made if other is instead_of[0] else [other])
        if n not in instead_of
    ]
    return graph.with_nodes(nodes, types=types, constants=constants)
