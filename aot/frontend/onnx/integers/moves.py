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
from aot.passes.values import fresh_name


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
