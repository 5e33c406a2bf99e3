"""Converts unsigned quantized values inside the graph to signed ones: minus 128, same meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, Quant, TensorType
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.values import fresh_name, rename_reads

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
