"""A rearranged vector that is read as an image, such as one of planes, is rearranged row by row instead."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.goals import PlacementGoal
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import behind_views, fresh_name
from aot.patterns.pattern import Match, is_op


def split_rearrangements_into_rows(graph: Graph, goal: PlacementGoal) -> Outcome:
    """Replaces reshape, rearrangement, reshape by a view with short rows and a rearrangement."""
    return rewrite(graph, is_op("rearrange"), _by_rows, "nothing is rearranged")


def _image(node: Node, graph: Graph) -> Node | Miss:
    """Returns the reshape to an image that is the only reader of a rearranged vector."""
    (made,) = node.outputs
    if made in graph.kept or len(graph.readers[made]) != 1:
        return Miss(f'computes "{made}", whose only reader is not a reshape')
    (reader,) = graph.readers[made]
    if not isinstance(reader.op, Reshape):
        return Miss(f'is read by "{reader.name}" ({reader.op.name}), not by a reshape to an image')
    shape = graph.types[reader.outputs[0]].shape
    if len(shape) == 4 and shape[0] == 1 < shape[1]:
        return reader
    return Miss(f"is viewed as {list(shape)}, which is not an image of several rows")


def _by_rows(graph: Graph, found: Match) -> Graph | Miss:
    node = graph.producers[found.value]
    op = node.op_as(Rearrange)
    image = _image(node, graph)
    if isinstance(image, Miss):
        return image
    source, made = behind_views(node.reads[0], graph), graph.types[image.outputs[0]]
    loops = op.loops.in_axes(made.shape)
    seen = None if loops is None else _short_rows(graph.types[source], loops.strides[1])
    picked = None if loops is None else Rearrange(made.shape, made.shape, loops.strides, op.offset)
    if picked is None or seen is None or picked.picks(seen) is None:
        return Miss(f'computes rows that are not rows of "{source}"')
    rows = fresh_name(f"{node.name}/rows", graph.types)
    view = Node(rows, Reshape(seen.shape), (source,), (rows,), node.origin)
    whole = replace(node, op=picked, inputs=(rows,), outputs=image.outputs)
    swapped = {node.name: (), image.name: (view, whole)}
    nodes = [n for other in graph.nodes for n in swapped.get(other.name, (other,))]
    return graph.with_nodes(nodes, types={rows: seen})


def _short_rows(source: TensorType, row_elements: int) -> TensorType | None:
    if row_elements <= 0 or source.elements % row_elements:
        return None
    return replace(source, shape=(1, source.elements // row_elements, row_elements, 1))
