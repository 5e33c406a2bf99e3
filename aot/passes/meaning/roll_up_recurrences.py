"""A recurrent layer that the file stores step by step becomes one layer again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.op import Op
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.recurrent import Recurrent
from aot.ops.reshape import Reshape
from aot.passes.outcome import Outcome, outcome
from aot.passes.recurrence.chains import LEAST_STEPS, WrittenOutLayer, find_chain, loops_of
from aot.passes.rewrite import without_dead_code
from aot.passes.values import NewValues, Places, fresh_name, origins

_NO_STEPS = "no three consecutive steps of a known cell have the same weights"


def roll_up_recurrences(graph: Graph) -> Outcome:
    """Rolls up float layers only, because the order of their sums may change."""
    before = graph
    while (chain := find_chain(graph)) is not None:
        graph = _rolled(graph, chain)
    return outcome(before, graph, {}, _steps_in_integers(before) or _NO_STEPS)


def _steps_in_integers(graph: Graph) -> str:
    """Explains why integer steps are not rolled up: no loop computes the same bits; "" without such steps."""
    alike: dict[bytes, list[Node]] = {}
    for node in graph.nodes:
        weights = graph.constants.get(node.inputs[1] or "") if isinstance(node.op, Dense) else None
        if weights is not None and weights.dtype != np.float32:
            alike.setdefault(weights.tobytes(), []).append(node)
    for nodes in alike.values():
        scales = {graph.types[node.outputs[0]].quant for node in nodes}
        if len(nodes) >= LEAST_STEPS and len(scales) > 1:
            return (
                f'{len(nodes)} layers have the weights "{nodes[0].inputs[1]}", their results '
                f"{len(scales)} scales: integer steps with different scales "
                "cannot become one loop with the same bits"
            )
    return ""


def _rolled(graph: Graph, chain: WrittenOutLayer) -> Graph:
    rolled = _with_layer(graph, chain, gives_cell=False)
    if any(step.memory in rolled.producers for step in chain.steps):  # another node reads a cell
        return _with_layer(graph, chain, gives_cell=True)
    return rolled


def _with_layer(graph: Graph, chain: WrittenOutLayer, gives_cell: bool) -> Graph:
    layer = _RolledLayer(graph, chain, gives_cell)
    parts = layer.parts()
    begins = graph.producers[chain.steps[0].memory or chain.steps[0].hidden]
    nodes: list[Node] = []
    for node in graph.nodes:
        if node is begins:
            nodes += layer.nodes()
        nodes.append(parts.get(node.outputs[0], node))
    whole = graph.with_nodes(nodes, layer.types, layer.constants)
    joined = _with_joined_rows(without_dead_code(whole), layer.result)
    return without_dead_code(_with_values_as_rows(joined, layer.result))


class _RolledLayer(NewValues):
    """The nodes, values and constants that replace a chain."""

    def __init__(self, graph: Graph, chain: WrittenOutLayer, gives_cell: bool) -> None:
        super().__init__(graph)
        self.chain, self.gives_cell = chain, gives_cell
        self.maker = self.graph.producers[self.chain.steps[-1].hidden]
        self.result = fresh_name(f"{self.maker.name}/steps", self.graph.types)
        self.units = self.chain.steps[0].units
        self.width = self.units * (1 + self.gives_cell)

    def parts(self) -> dict[str, Node]:
        """Returns the nodes that extract single steps' values, for other readers, from the layer's result."""
        found: dict[str, Node] = {}
        for number, step in enumerate(self.chain.steps):
            read = [step.hidden, step.memory] if self.gives_cell else [step.hidden]
            for offset, value in enumerate(read):
                node, shape = self.graph.producers[value], self.graph.types[value].shape
                first = number * self.width + offset * self.units
                op = Rearrange(shape, (self.units,), (1,), first)
                found[value] = replace(node, op=op, inputs=(self.result,))
        return found

    def nodes(self) -> Iterator[Node]:
        chain, weights = self.chain, self.chain.weights
        yield (source := self._node("inputs", _taken_by(chain.loops, self.graph, chain.source), chain.source))
        count, features = chain.loops.sizes[1], chain.loops.sizes[3]
        self._made(source, (1, count, 1, features))
        gates = len(weights.bias)
        filters = self._weights("weights", weights.inputs.reshape(gates, 1, 1, features))
        biases = self._weights("biases", weights.bias)
        yield (sums := self._node("gates", Conv2d(), source.outputs[0], filters, biases))
        self._made(sums, (1, count, 1, gates))
        states: list[str | None] = []
        for what, value in (("hidden", chain.hidden_before), ("cell", chain.memory_before)):
            state = None if value is None else self._node(what, Reshape((1, self.units)), value)
            if state is not None:
                self._made(state, (1, self.units))
                yield state
            states.append(None if state is None else state.outputs[0])
        own = None if weights.late is None else self._weights("late", weights.late.reshape(1, -1))
        hidden = self._weights("recurrent", weights.hidden.reshape(1, -1))
        inputs = _without_trailing((sums.outputs[0], hidden, own, None, *states))
        layer = Node(
            self.result, Recurrent(chain.cell, self.gives_cell), inputs, (self.result,), self.maker.origin
        )
        self._made(layer, (1, count, 1, self.width))
        yield layer

    def _node(self, what: str, op: Op, *inputs: str) -> Node:
        name = fresh_name(f"{self.maker.name}/{what}", self.graph.types, self.types)
        return Node(name, op, inputs, (name,), self.maker.origin)

    def _made(self, node: Node, shape: tuple[int, ...]) -> None:
        self.types[node.outputs[0]] = TensorType(DType.F32, shape)

    def _weights(self, what: str, array: Array) -> str:
        kind = TensorType(DType.F32, array.shape)
        return self.constant(f"{self.maker.name}/{what}", kind, array.astype(np.float32))


def _without_trailing(inputs: tuple[str | None, ...]) -> tuple[str | None, ...]:
    while inputs[-1] is None:
        inputs = inputs[:-1]
    return inputs


def _taken_by(loops: Loops, graph: Graph, source: str) -> Op:
    """Returns the op that extracts an image of one column from a value; all of it in order is a view."""
    _, count, _, length = loops.sizes
    is_all = count * length == graph.types[source].elements
    if is_all and loops.offset == 0 and loops.strides[1:] == (length, length, 1):
        return Reshape(loops.sizes)
    return Rearrange(loops.sizes, loops.sizes, loops.strides, loops.offset)


def _with_joined_rows(graph: Graph, steps: str) -> Graph:
    """Extracts step values that are joined in order from the layer's result at once."""
    nodes: list[Node] = []
    types: dict[str, TensorType] = {}
    for node in graph.nodes:
        rows = _rows_joined(graph, node, steps) if isinstance(node.op, Concat) else None
        loops = None if rows is None else loops_of(rows)
        if loops is None:
            nodes.append(node)
            continue
        name = fresh_name(f"{node.name}/rows", graph.types, types)
        types[name] = TensorType(DType.F32, loops.sizes)
        nodes.append(Node(name, _taken_by(loops, graph, steps), (steps,), (name,), node.origin))
        shape = graph.types[node.outputs[0]].shape
        nodes.append(replace(node, op=Reshape(shape), inputs=(name,)))
    return graph.with_nodes(nodes, types) if types else graph


def _with_values_as_rows(graph: Graph, steps: str) -> Graph:
    """Extracts single steps' values from the layer's result as rows, so that it need not be kept whole."""
    nodes: list[Node] = []
    types: dict[str, TensorType] = {}
    for node in graph.nodes:
        op = node.op
        if not isinstance(op, Rearrange) or node.inputs != (steps,) or len(op.sizes) != 1:
            nodes.append(node)
            continue
        name = fresh_name(f"{node.name}/row", graph.types, types)
        sizes = (1, 1, 1, *op.sizes)
        types[name] = TensorType(DType.F32, sizes)
        row = Rearrange(sizes, sizes, (*op.sizes, *op.sizes, *op.sizes, 1), op.offset)
        nodes.append(Node(name, row, (steps,), (name,), node.origin))
        nodes.append(replace(node, op=Reshape(op.shape), inputs=(name,)))
    return graph.with_nodes(nodes, types) if types else graph


def _rows_joined(graph: Graph, node: Node, steps: str) -> Places | None:
    """Returns the elements of the layer's result that are joined, a row for each step; None otherwise."""
    found: list[Places] = []
    for value in node.reads:
        places = dict(origins(graph, value)).get(steps)
        if places is None:
            return None
        found.append(places.reshape(graph.types[value].shape))
    whole = np.concatenate(found, axis=node.op_as(Concat).axis)
    count = len(node.reads)
    return whole.reshape(count, -1) if whole.size % count == 0 else None
