"""Removes views that hide the rows of a window: of inputs that are vectors, and around transpositions."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.rewrite import without_dead_code
from aot.passes.values import behind_views, without_input_views


def with_visible_rows(graph: Graph) -> Graph:
    """Returns the graph with rows as an axis of the input and of rearranged values, if they have rows."""
    for node in graph.nodes:
        if isinstance(node.op, Rearrange) and node.op.sizes != node.op.shape:
            graph = _in_last_shape(node, node.op, graph)
    graph = without_input_views(without_dead_code(graph))
    while (seen := _view_first(graph)) is not graph:
        graph = without_input_views(seen)
    return graph


def _in_last_shape(node: Node, op: Rearrange, graph: Graph) -> Graph:
    """Rearranges to the shape that readers use, if each of its axes is one of the loops."""
    views, last = _views_after(node.outputs[0], graph)
    kind, loops = graph.types[last], [each for each in zip(op.sizes, op.strides, strict=True) if each[0] > 1]
    if [size for size in kind.shape if size > 1] != [size for size, _ in loops]:
        return graph
    rest = iter(stride for _, stride in loops)
    strides = tuple(next(rest) if size > 1 else 0 for size in kind.shape)
    made = Rearrange(kind.shape, kind.shape, strides, op.offset)
    source = behind_views(node.reads[0], graph)
    whole = replace(node, op=made, inputs=(source,), outputs=(last,))
    return graph.with_nodes(whole if n is node else n for n in graph.nodes if n not in views)


def _views_after(value: str, graph: Graph) -> tuple[list[Node], str]:
    """Returns the reshapes that alone read the value, one after the other, and the last one's result."""
    views: list[Node] = []
    while value not in graph.kept and len(readers := graph.readers[value]) == 1:
        if not isinstance(readers[0].op, Reshape):
            break
        views.append(readers[0])
        value = readers[0].outputs[0]
    return views, value


def _view_first(graph: Graph) -> Graph:
    """Moves a view before an elementwise node that alone reads the input."""
    for value in graph.inputs[:1]:
        readers = graph.readers[value]
        if len(readers) != 1 or readers[0].op.elementwise != (0,) or value in graph.kept:
            continue
        node = readers[0]
        views, last = _views_after(node.outputs[0], graph)
        if views:
            types = {value: replace(graph.types[value], shape=graph.types[last].shape)}
            whole = replace(node, outputs=(last,))
            nodes = [whole if n is node else n for n in graph.nodes if n not in views]
            return graph.with_nodes(nodes, types=types)
    return graph
