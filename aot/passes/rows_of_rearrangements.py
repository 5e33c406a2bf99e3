"""A rearranged vector that is looked at as an image, such as one of planes: rearranged row by row instead."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name


def rows_of_rearrangements(graph: Graph) -> Graph:
    """Of a reshape, a rearrangement and a reshape a view with short rows and a rearrangement are left."""
    for node in graph.nodes:
        image = _image(node, graph)
        if image is not None:
            graph = _by_rows(node, image, graph)
    return graph


def _image(node: Node, graph: Graph) -> Node | None:
    """The reshape to an image that alone reads a rearranged vector."""
    if not isinstance(node.op, Rearrange) or node.outputs[0] in graph.kept:
        return None
    readers = graph.readers[node.outputs[0]]
    if len(readers) != 1 or not isinstance(readers[0].op, Reshape):
        return None
    shape = graph.types[readers[0].outputs[0]].shape
    return readers[0] if len(shape) == 4 and shape[0] == 1 < shape[1] else None


def _by_rows(node: Node, image: Node, graph: Graph) -> Graph:
    assert isinstance(node.op, Rearrange)
    source, made = viewed(node.reads[0], graph), graph.types[image.outputs[0]]
    strides = split_strides(node.op.loops, made.shape)
    seen = None if strides is None else _short_rows(graph.types[source], strides[1])
    if strides is None or seen is None:
        return graph
    picked = Rearrange(made.shape, made.shape, strides, node.op.offset)
    if picked.picks(seen) is None:
        return graph
    rows = fresh_name(f"{node.name}/rows", graph.types)
    view = Node(rows, Reshape(seen.shape), (source,), (rows,), node.origin)
    whole = replace(node, op=picked, inputs=(rows,), outputs=image.outputs)
    nodes = [
        n
        for other in graph.nodes
        if other is not node
        for n in ((view, whole) if other is image else (other,))
    ]
    return graph.with_nodes(nodes, types={rows: seen})


def viewed(value: str, graph: Graph) -> str:
    """What a chain of reshapes looks at."""
    maker = graph.producers.get(value)
    return value if maker is None or not isinstance(maker.op, Reshape) else viewed(maker.reads[0], graph)


def _short_rows(source: TensorType, row_elements: int) -> TensorType | None:
    if row_elements <= 0 or source.elements % row_elements:
        return None
    return replace(source, shape=(1, source.elements // row_elements, row_elements, 1))


def split_strides(loops: Loops, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of loops of these sizes that read the same, if there are such."""
    left = [(size, stride) for size, stride in zip(loops.sizes, loops.strides, strict=True) if size > 1]
    found = []
    for size in reversed(sizes):
        if size == 1:
            found.append(0)
            continue
        if not left or left[-1][0] % size:
            return None
        length, stride = left.pop()
        found.append(stride)
        if length > size:
            left.append((length // size, stride * size))
    return None if left else tuple(reversed(found))
