"""Moves and comparisons on integers: conversions are moved past them, down and up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.concat import Concat
from aot.ops.gather import Gather
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import Op
from aot.ops.pad import Pad
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.passes.values import fresh_name, rename_reads


def _same(op: Op, quant: Quant) -> Op:
    return op


def _padding(op: Pad, quant: Quant) -> Op | None:
    """Returns the op with stored zeros as padding; only 0 is certainly a stored integer."""
    return replace(op, value=float(quant.zero_point)) if op.value == 0 else None


def _pool(op: MaxPool2d, quant: Quant) -> Op | None:
    return op if op.activation is Activation.NONE else None


# The op on integers, or None. All inputs are moved; for a gather only the first.
_ON_INTEGERS: Mapping[type[Op], Callable[[Any, Quant], Op | None]] = {
    Concat: _same,
    Gather: _same,
    MaxPool2d: _pool,
    Pad: _padding,
    Rearrange: _same,
    Reshape: _same,
}


def _moved(node: Node) -> tuple[str, ...]:
    return node.reads[:1] if isinstance(node.op, Gather) else node.reads


def _on_integers(node: Node, quant: Quant) -> Op | None:
    make = _ON_INTEGERS.get(type(node.op))
    return None if make is None else make(node.op, quant)


def sink_dequantisations(graph: Graph) -> Graph:
    """Moves elements before they are converted to floats."""
    return _Sinking(graph).graph()


@dataclass
class _Sinking:
    before: Graph

    def __post_init__(self) -> None:
        self.integers: dict[str, str] = {}  # of a float value
        self.types: dict[str, TensorType] = {}

    def graph(self) -> Graph:
        nodes = [n for node in self.before.nodes for n in self._rewritten(node)]
        return self.before.with_nodes(nodes, types=self.types) if self.types else self.before

    def _type(self, name: str) -> TensorType:
        return self.types.get(name) or self.before.types[name]

    def _rewritten(self, node: Node) -> Iterator[Node]:
        if isinstance(node.op, Dequantize):
            self.integers[node.outputs[0]] = node.reads[0]
        sunk = self._sunk(node)
        yield from (node,) if sunk is None else sunk

    def _sunk(self, node: Node) -> tuple[Node, Node] | None:
        """Returns the move of integers, and their conversion; or None."""
        sources = [self.integers.get(v) for v in _moved(node)]
        found = {self._type(s).quant for s in sources if s is not None}
        if None in sources or len(found) != 1 or any(self._type(s or "").dtype is DType.U8 for s in sources):
            return None
        (quant,) = found
        assert quant is not None
        op = _on_integers(node, quant)
        if op is None:
            return None
        (real,) = node.outputs
        made = fresh_name(f"{real}/stored", self.before.types, self.types)
        dtype = self._type(sources[0] or "").dtype
        self.types[made] = TensorType(dtype, self.before.types[real].shape, quant)
        self.integers[real] = made
        moving = replace(node, op=op, inputs=(*sources, *node.inputs[len(sources) :]), outputs=(made,))
        return moving, Node(f"{node.name}/real", Dequantize(), (made,), (real,), node.origin)


def lift_quantisations(graph: Graph) -> Graph:
    """Quantizes elements before they are moved, unless they are also read as floats."""
    index = len(graph.nodes) - 1
    while index >= 0:
        lifted = _lifted(graph, graph.nodes[index])
        if lifted is None:
            index -= 1
        else:
            graph = lifted
            index = min(index + 1, len(graph.nodes) - 1)
    return graph


def _lifted(graph: Graph, node: Node) -> Graph | None:
    """Moves one quantization before its predecessor, if possible."""
    if not isinstance(node.op, Quantize) or graph.types[node.reads[0]].dtype is not DType.F32:
        return None
    (real,), (result,) = node.reads, node.outputs
    mover = graph.producers.get(real)
    if mover is None or real in graph.kept or len(graph.readers[real]) > 1:
        return None
    quant = quant_of(graph.types[result])
    op = _on_integers(mover, quant)
    if op is None or graph.types[result].dtype is DType.U8:
        return None
    types: dict[str, TensorType] = {}
    made: dict[str, str] = {}
    for source in dict.fromkeys(_moved(mover)):
        made[source] = fresh_name(f"{source}/quantised", graph.types, types)
        types[made[source]] = replace(graph.types[result], shape=graph.types[source].shape)
    early = [
        Node(f"{node.name}/{n}", node.op, (s,), (v,), node.origin) for n, (s, v) in enumerate(made.items())
    ]
    inputs = tuple(made.get(v or "", v) for v in mover.inputs)
    late = replace(mover, op=op, inputs=inputs, outputs=(result,))
    nodes = [
        n
        for other in graph.nodes
        if other is not node
        for n in ((*early, late) if other is mover else (other,))
    ]
    return graph.with_nodes(nodes, types=types)


# Converts unsigned quantized values inside the graph to signed ones: minus 128, same meaning.


_OFFSET = 128


def with_signed_integers(graph: Graph) -> Graph:
    """Converts inner values. Inputs, outputs and values that other operators read stay unsigned."""
    return _Signing(graph).graph()


def with_quantised_inputs(graph: Graph) -> Graph:
    """Gives an input that is read with a single quantization that quantization."""
    views = [n for n in graph.nodes if _is_view(graph, n) and len(graph.readers[n.reads[0]]) == 1]
    types = {n.reads[0]: graph.types[n.outputs[0]] for n in views}
    nodes = [n for n in graph.nodes if n not in views]
    renamed = {n.outputs[0]: n.reads[0] for n in views}
    return graph.with_nodes(rename_reads(nodes, renamed), types=types) if views else graph


def _is_view(graph: Graph, node: Node) -> bool:
    """Returns whether the node is a view of an input's integers that is not also an output."""
    if not isinstance(node.op, Reshape) or node.reads[0] not in graph.inputs or node.outputs[0] in graph.kept:
        return False
    before, after = graph.types[node.reads[0]], graph.types[node.outputs[0]]
    return before.quant is None and after == replace(before, quant=after.quant)


def _is_unsigned(tensor: TensorType) -> bool:
    return tensor.dtype is DType.U8 and tensor.quant is not None


@dataclass
class _Signing:
    before: Graph

    def __post_init__(self) -> None:
        values = [v for v, tensor in self.before.types.items() if _is_unsigned(tensor)]
        self.signed = {v: self._name(v) for v in values}
        self.types: dict[str, TensorType] = {}

    def graph(self) -> Graph:
        if not self.signed:
            return self.before
        nodes = [n for v in self.before.inputs for n in self._converted_input(v)]
        nodes += [n for node in self.before.nodes for n in self._rewritten(node)]
        return self.before.with_nodes(nodes, types=self.types)

    def _name(self, value: str) -> str:
        if self._is_made_signed(value) and not self._is_read_unsigned(value):
            return value
        return fresh_name(f"{value}/signed", self.before.types)

    def _is_made_signed(self, value: str) -> bool:
        maker = self.before.producers.get(value)
        return maker is not None and self._makes_signed(maker)

    def _makes_signed(self, node: Node) -> bool:
        """Returns whether a node can also output signed integers: from floats, or by moving elements."""
        if isinstance(node.op, Quantize):
            return self.before.types[node.reads[0]].dtype is DType.F32
        return self._moves(node)

    def _moves(self, node: Node) -> bool:
        types = (*self.before.input_types(node), *self.before.output_types(node))
        is_move = isinstance(node.op, Reshape | Rearrange)
        return is_move and all(t is not None and _is_unsigned(t) for t in types)

    def _takes_signed(self, node: Node) -> bool:
        return isinstance(node.op, Dequantize) or self._moves(node)

    def _is_read_unsigned(self, value: str) -> bool:
        others = any(not self._takes_signed(reader) for reader in self.before.readers[value])
        return others or value in self.before.kept

    def _type(self, value: str) -> None:
        tensor = self.before.types[value]
        assert tensor.quant is not None
        zero_points = tuple(z - _OFFSET for z in tensor.quant.zero_points)
        quant = Quant(tensor.quant.scales, zero_points)
        self.types[self.signed[value]] = TensorType(DType.I8, tensor.shape, quant)

    def _converted_input(self, value: str) -> Iterator[Node]:
        if value in self.signed and any(self._takes_signed(n) for n in self.before.readers[value]):
            yield self._to_signed(value, "")

    def _to_signed(self, value: str, origin: str) -> Node:
        self._type(value)
        made = self.signed[value]
        return Node(made, Quantize(DType.I8), (value,), (made,), origin)

    def _rewritten(self, node: Node) -> Iterator[Node]:
        new = node
        if self._takes_signed(node):
            new = replace(node, inputs=tuple(self.signed.get(v or "", v) for v in node.inputs))
        if self._makes_signed(node) and node.outputs[0] in self.signed:
            yield from self._made_signed(new, node.outputs[0])
            return
        yield new
        for value in node.outputs:
            if value in self.signed and any(self._takes_signed(n) for n in self.before.readers[value]):
                yield self._to_signed(value, node.origin)

    def _made_signed(self, node: Node, value: str) -> Iterator[Node]:
        self._type(value)
        op = replace(node.op, to=DType.I8) if isinstance(node.op, Quantize) else node.op
        made = self.signed[value]
        yield replace(node, op=op, outputs=(made,))
        if made != value:
            yield Node(f"{node.name}/unsigned", Quantize(DType.U8), (made,), (value,), node.origin)
