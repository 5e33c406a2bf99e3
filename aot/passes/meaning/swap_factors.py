"""Matrix products whose results are read along columns get their factors swapped, and give these as lines.

(A B) transposed is B transposed times A transposed, with the same products in the same order, so no bit
changes. If exporters put the keys of attention first, its scores have a column for each query, and reach the
softmax and the values through transpositions of whole matrices. After the swap they have a line for each
query. Line by line, softmax and masks follow in the order of the product, and what remains of the
transpositions is the order of lines, which cancels out or concerns a small result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from types import UnionType

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType, dense_strides
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.log_softmax import LogSoftmax
from aot.ops.op import Op
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite, without_dead_code
from aot.passes.values import NewValues, behind_views, fresh_name
from aot.patterns.pattern import Match, wildcard

_LINES = Softmax | LogSoftmax


def swap_factors(graph: Graph) -> Outcome:
    """Follows each product through its softmax to the next product."""
    return rewrite(graph, wildcard(), _changed, "no matrices are multiplied")


def _changed(graph: Graph, found: Match) -> Graph | Miss | None:
    node = graph.producers[found.value]
    if isinstance(node.op, BatchMatmul):
        return _swapped(node, node.op, graph)
    if isinstance(node.op, _LINES) or node.op.elementwise:
        return _in_order_of_product(node, graph)
    return None


def _swapped(node: Node, op: BatchMatmul, graph: Graph) -> Graph | Miss:
    """Returns the graph with swapped factors if the product's columns, or its second factor's, are lines."""
    x, y = (graph.types[value] for value in node.reads)
    if x.dtype is not y.dtype or (x.quant is not None and x.quant.is_per_channel):
        return Miss("has factors of two types, or a first factor with several scales")
    if _follows_softmax(node.reads[0], graph):
        return Miss("has the lines of a softmax as its first factor")
    reader = _reading_columns(node, op, graph)
    lines = _lines_of_second(node, op, graph)
    if reader is None and lines is None:
        return Miss("is not read along its columns, and its second factor is not a softmax's")
    edit = _Edit(graph, node)
    (_, rows, depth), (matrices, _, columns) = op.sizes(x), op.sizes_of_second(y)
    (result,) = graph.output_types(node)
    pairs, shape = result.shape[1], (1, matrices, columns, depth)
    if lines is None:
        across = (depth, 1) if op.y_transposed else (1, columns)
        lines = _Seen(node.reads[1], Loops(shape, (0, depth * columns, *across)))
    first = edit.rearranged(lines, replace(y, shape=shape))
    swapped = replace(op, x_transposed=False, y_transposed=not op.x_transposed)
    product = edit.add(swapped, (first, node.reads[0]), replace(result, shape=(1, pairs, columns, rows)))
    back = Loops(result.shape, (0, rows * columns, 1, rows))
    if reader is None:
        return edit.done(_Seen(product, back), node)
    last, loops = reader
    return edit.done(_Seen(product, _required(loops.over(back))), last)


def _required(loops: Loops | None) -> Loops:
    assert loops is not None
    return loops


@dataclass(frozen=True)
class _Seen:
    """A value as loops over another one's elements."""

    source: str
    loops: Loops


def _seen(value: str, graph: Graph) -> _Seen:
    """Follows views and rearrangements, as far as they keep the integers, to the value that they show."""
    loops = Loops((graph.types[value].elements,), (1,))
    while (maker := graph.producers.get(value)) is not None and isinstance(maker.op, Rearrange | Reshape):
        source = maker.reads[0]
        further = loops.over(maker.op.loops) if isinstance(maker.op, Rearrange) else loops
        if further is None or graph.types[source].quant != graph.types[value].quant:
            break
        value, loops = source, further
    return _Seen(value, loops)


def _follows(value: str, ops: type | UnionType, graph: Graph) -> bool:
    """Returns whether an op of these kinds makes the value, or what it is computed from line by line."""
    source = _seen(value, graph).source
    maker = graph.producers.get(source)
    if maker is None:
        return False
    if isinstance(maker.op, ops):
        return True
    if not isinstance(maker.op, _LINES) and not maker.op.elementwise:
        return False
    whole = graph.types[source].elements
    main = next((v for v in maker.reads if graph.types[v].elements == whole), None)
    return main is not None and _follows(main, ops, graph)


def _follows_softmax(value: str, graph: Graph) -> bool:
    return _follows(value, _LINES, graph)


def _reading_columns(node: Node, op: BatchMatmul, graph: Graph) -> tuple[Node, Loops] | None:
    """Returns the last of the rearrangements of the product, and all their loops, if these read columns."""
    (value,) = node.outputs
    kind = graph.types[value]
    loops, found = Loops((kind.elements,), (1,)), None
    while value not in graph.kept and len(graph.readers[value]) == 1:
        (reader,) = graph.readers[value]
        keeps_integers = graph.types[reader.outputs[0]].quant == kind.quant
        if not isinstance(reader.op, Rearrange | Reshape) or not keeps_integers:
            break
        (value,) = reader.outputs
        if isinstance(reader.op, Rearrange):
            further = reader.op.loops.over(loops)
            if further is None:
                break
            loops, found = further, reader
    steps = [s for s in loops.along(kind.shape) or () if s.size > 1]
    if found is None or not steps or (steps[-1].axis, steps[-1].step) != (_ROWS, 1):
        return None
    _, rows, depth = op.sizes(graph.types[node.reads[0]])
    is_cheap = op.y_transposed or depth <= rows or isinstance(_maker(node.reads[1], graph), Rearrange)
    return (found, loops) if is_cheap else None


_ROWS = 2  # the axis of a product


def _maker(value: str, graph: Graph) -> Op | None:
    maker = graph.producers.get(behind_views(value, graph))
    return None if maker is None else maker.op


def _lines_of_second(node: Node, op: BatchMatmul, graph: Graph) -> _Seen | None:
    """Returns the second factor, transposed, as loops over a softmax's result whose lines it consists of."""
    y = node.reads[1]
    if not _follows_softmax(y, graph):
        return None
    seen = _seen(y, graph)
    groups = seen.loops.by_axes(graph.types[y].shape)
    if groups is None:
        return None
    _, pairs, depth, columns = groups if not op.y_transposed else (*groups[:2], groups[3], groups[2])
    if depth.strides != (1,):
        return None
    sizes = pairs.sizes + columns.sizes + depth.sizes
    strides = pairs.strides + columns.strides + depth.strides
    return _Seen(seen.source, Loops(sizes, strides, seen.loops.offset))


@dataclass(frozen=True)
class _Part:
    """A loop over lines, or along them: its axis in the result, its size and its stride in the product."""

    axis: int
    size: int
    stride: int


def _in_order_of_product(node: Node, graph: Graph) -> Graph | None:
    """Computes a node in the order of the lines of the product that it follows; then rearranges the lines."""
    (out,) = graph.output_types(node)
    main = next((v for v in node.reads if graph.types[v].shape == out.shape), None)
    if main is None or not _follows(main, BatchMatmul, graph):
        return None
    seen = _seen(main, graph)
    parts = _parts(seen.loops, out.shape, graph.types[seen.source].elements)
    if parts is None or seen.loops.is_identity:
        return None
    order = sorted(parts, key=lambda part: -part.stride)
    edit = _Edit(graph, node)
    inputs: list[str | None] = []
    for value in node.inputs:
        operand = graph.types[value] if value is not None else None
        if value is None or operand is None or operand.elements == 1:
            inputs.append(value)
        elif value == main:
            whole = Loops((operand.elements,), (1,))
            shape = tuple(part.size for part in order)
            inputs.append(edit.rearranged(_Seen(seen.source, whole), replace(operand, shape=shape)))
        elif operand.elements < out.elements:
            inputs.append(_operand(edit, value, parts, order, len(out.shape)))
        else:
            return None
    kind = replace(out, shape=tuple(part.size for part in order))
    return edit.done(_Seen(edit.add(node.op, tuple(inputs), kind), seen.loops), node)


def _parts(loops: Loops, shape: tuple[int, ...], elements: int) -> list[_Part] | None:
    """Returns the loops if they read every line once, and each line in order; else None."""
    groups = loops.by_axes(shape)
    if groups is None or groups[-1].strides != (1,):
        return None
    parts = [
        _Part(axis, size, stride)
        for axis, group in enumerate(groups)
        for size, stride in zip(group.sizes, group.strides, strict=True)
    ]
    order = sorted(parts, key=lambda part: -part.stride)
    sizes = [part.size for part in order]
    is_whole = prod(sizes) == elements and dense_strides(sizes) == tuple(part.stride for part in order)
    return parts if is_whole and not loops.offset else None


def _operand(edit: _Edit, value: str, parts: list[_Part], order: list[_Part], rank: int) -> str:
    """Returns an operand that is repeated along some axes, with its other axes in the product's order."""
    kind = edit.graph.types[value]
    aligned = (1,) * (rank - kind.rank) + kind.shape
    sizes = [part.size if aligned[part.axis] > 1 else 1 for part in parts]
    strides = dict(zip(parts, dense_strides(sizes), strict=True))
    shape = tuple(part.size if aligned[part.axis] > 1 else 1 for part in order)
    loops = Loops(shape, tuple(strides[part] if n > 1 else 0 for part, n in zip(order, shape, strict=True)))
    return edit.rearranged(_Seen(value, loops), replace(kind, shape=shape))


class _Edit(NewValues):
    """Nodes that come instead of one node of a graph, and their values."""

    def __init__(self, graph: Graph, node: Node) -> None:
        super().__init__(graph)
        self.node = node
        self.nodes: list[Node] = []

    def add(self, op: Op, inputs: tuple[str | None, ...], kind: TensorType) -> str:
        name = self.value(f"{self.node.outputs[0]}/lines", kind)
        self.nodes.append(replace(self.node, op=op, inputs=inputs, outputs=(name,)))
        return name

    def rearranged(self, seen: _Seen, kind: TensorType) -> str:
        """Returns the value that these loops read, in the shape of `kind`; a view if the order is kept."""
        name = f"{seen.source}/swapped"
        if seen.source in self.graph.constants:
            elements = self.graph.constants[seen.source].reshape(-1)
            return self.constant(name, kind, elements[seen.loops.indices()].reshape(kind.shape))
        name = self.value(name, kind)
        self._rearrange(seen, kind, name)
        return name

    def _rearrange(self, seen: _Seen, kind: TensorType, name: str) -> None:
        source = self.type(seen.source)
        flat = name
        value = seen.source
        if not (seen.loops.is_identity and source.elements == kind.elements):
            loops = seen.loops.merged()
            vector = self.value(f"{name}/vector", replace(source, shape=(1, source.elements)))
            flat = self.value(f"{name}/flat", replace(kind, shape=(1, kind.elements)))
            self._node(Reshape((1, source.elements)), value, vector)
            self._node(Rearrange((1, kind.elements), loops.sizes, loops.strides, loops.offset), vector, flat)
            value = flat
        self._node(Reshape(kind.shape), value, name)

    def _node(self, op: Op, value: str, name: str) -> None:
        taken = {*(n.name for n in self.graph.nodes), *(n.name for n in self.nodes)}
        self.nodes.append(Node(fresh_name(name, taken), op, (value,), (name,), self.node.origin))

    def done(self, seen: _Seen, last: Node) -> Graph:
        """Returns the graph in which `seen` is the result of the node `last`, which is replaced."""
        (value,) = last.outputs
        self._rearrange(seen, self.graph.types[value], value)
        here = [n for n in self.nodes if n.outputs[0] != value]
        final = self.nodes[-1]
        nodes: list[Node] = []
        for node in self.graph.nodes:
            nodes += here if node is self.node else []
            nodes += [final] if node is last else [] if node is self.node else [node]
        return without_dead_code(self.graph.with_nodes(nodes, self.types, self.constants))
