"""Flattened images that are joined to one vector are joined row by row, so that none need be whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import gcd, prod
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat, behind
from aot.ops.reshape import Reshape
from aot.passes.goals import PlacementGoal
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import NewValues, behind_views, fresh_name
from aot.patterns.pattern import Match, is_op
from aot.wording import counted

if TYPE_CHECKING:
    from aot.passes.goals import CostModel


def split_concats_into_rows(graph: Graph, goal: PlacementGoal) -> Outcome:
    """Gives the joined vector the rows that its reader uses, or the longest that all parts have."""
    return rewrite(
        graph, is_op("concat"), partial(_split, goal.costs), "no values are joined into one vector"
    )


def _split(costs: CostModel, graph: Graph, found: Match) -> Graph | Miss | None:
    node, shape = graph.producers[found.value], graph.types[found.value].shape
    if node.op_as(Concat).axis != len(shape) - 1 or prod(shape[:-1]) != 1:
        return None
    roots = [behind_views(value, graph) for value in node.reads]
    if not any(r in graph.producers and _row_elements(r, graph) < graph.types[r].elements for r in roots):
        return Miss("joins no values that layers compute row by row")
    return _seen_by_reader(node, graph) or _seen_as_vector(node, graph, costs)


def _row_elements(value: str, graph: Graph) -> int:
    shape = graph.types[value].shape
    return prod(shape[2:]) if len(shape) == 4 and shape[0] == 1 else prod(shape[-1:])


def _seen_by_reader(node: Node, graph: Graph) -> Graph | None:
    """Joins in the shape that the only reader uses; None if the parts have no such rows."""
    (made,) = node.outputs
    readers = graph.readers[made]
    if made in graph.kept or len(readers) != 1 or not isinstance(readers[0].op, Reshape):
        return None
    (seen,) = readers[0].outputs
    shape = graph.types[seen].shape
    axis = next((a for a in range(len(shape)) if shape[a] > 1), 0)
    inner, sizes = prod(shape[axis + 1 :]), [graph.types[value].elements for value in node.reads]
    parts = [(*shape[:axis], size // inner, *shape[axis + 1 :]) for size in sizes]
    # A slice of several images is itself an image, with rows along another axis.
    if any(size % inner for size in sizes) or not all(behind(axis, part) for part in parts):
        return None
    joined = replace(node, op=Concat(axis), outputs=(seen,))
    return _joined(joined, graph.types[seen], graph, instead_of=(node, readers[0]))


def _seen_as_vector(node: Node, graph: Graph, costs: CostModel) -> Graph | Miss:
    (made,) = node.outputs
    if made in graph.kept:
        return Miss(f'computes "{made}", which is used outside of the graph as a vector')
    kind = graph.types[made]
    row = gcd(*(_row_elements(behind_views(value, graph), graph) for value in node.reads))
    if row * kind.dtype.bytes < costs.min_row_bytes:
        length = counted(row * kind.dtype.bytes, "byte")
        return Miss(f"joins parts whose longest common rows have {length}, fewer than {costs.min_row_bytes}")
    rows = replace(kind, shape=(1, kind.elements // row, row))
    name = fresh_name(f"{made}/rows", graph.types)
    joined = replace(node, op=Concat(1), outputs=(name,))
    back = Node(f"{node.name}/vector", Reshape(kind.shape), (name,), (made,), node.origin)
    return _joined(joined, rows, graph, instead_of=(node,), followed_by=(back,))


def _joined(
    node: Node, kind: TensorType, graph: Graph, instead_of: Sequence[Node], followed_by: Sequence[Node] = ()
) -> Graph:
    """Returns the graph with views of the inputs in the result's rows; constants are reshaped."""
    op = node.op_as(Concat)
    axis, inner = op.axis, prod(kind.shape[op.axis + 1 :])
    views: list[Node] = []
    names: list[str] = []
    new = NewValues(graph)
    new.types[node.outputs[0]] = kind
    for value in node.reads:
        own = graph.types[value]
        shape = (*kind.shape[:axis], own.elements // inner, *kind.shape[axis + 1 :])
        name = new.value(f"{value}/rows", replace(own, shape=shape))
        names.append(name)
        if value in graph.constants:
            new.constants[name] = graph.constants[value].reshape(shape)
        else:
            views.append(Node(name, Reshape(shape), (behind_views(value, graph),), (name,), node.origin))
    made = [*views, replace(node, inputs=tuple(names)), *followed_by]
    nodes = [
        n
        for other in graph.nodes
        for n in (made if other is instead_of[0] else [other])
        if n not in instead_of
    ]
    return graph.with_nodes(nodes, types=new.types, constants=new.constants)
