"""Unsigned bytes that are only moved stay unsigned: they are not made signed and unsigned again."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.concat import Concat
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape

_MOVES = (Concat, Rearrange, Reshape)  # stored elements are copied as they are
_STEP = 128  # from a signed zero point to the unsigned one of the same meaning


def keep_unsigned(graph: Graph) -> Graph:
    """What lies between conversions of equal meaning changes its type; the conversions become identities."""
    moved = _only_moved(graph)
    if not moved:
        return graph
    types = {value: unsigned for value in moved if (unsigned := _unsigned(graph.types[value]))}
    nodes = [_made_unsigned(node) if node.outputs[0] in moved else node for node in graph.nodes]
    return graph.with_nodes(nodes, types=types)


def _only_moved(graph: Graph) -> frozenset[str]:
    """The most signed values that nothing but moves and conversions of equal meaning make and read."""
    found = frozenset(value for value, type_ in graph.types.items() if _unsigned(type_) is not None)
    while True:
        left = frozenset(value for value in found if _is_only_moved(value, found, graph))
        if left == found:
            return found
        found = left


def _is_only_moved(value: str, moved: frozenset[str], graph: Graph) -> bool:
    maker = graph.producers.get(value)
    if maker is None or value in graph.kept:
        return False
    return all(
        _keeps_meaning(node, graph) or _moves_within(node, moved) for node in (maker, *graph.readers[value])
    )


def _moves_within(node: Node, moved: frozenset[str]) -> bool:
    return isinstance(node.op, _MOVES) and moved.issuperset((*node.reads, *node.outputs))


def _keeps_meaning(node: Node, graph: Graph) -> bool:
    """Whether it converts between a signed type and the unsigned one of the same meaning."""
    if not isinstance(node.op, Quantize):
        return False
    x, y = graph.types[node.reads[0]], graph.types[node.outputs[0]]
    return _unsigned(x) == y or _unsigned(y) == x


def _unsigned(signed: TensorType) -> TensorType | None:
    """The type of the same meaning; None where there is none."""
    if signed.dtype is not DType.I8 or signed.quant is None or signed.quant.is_per_channel:
        return None
    (zero_point,) = signed.quant.zero_points
    quant = replace(signed.quant, zero_points=(zero_point + _STEP,))
    return replace(signed, dtype=DType.U8, quant=quant)


def _made_unsigned(node: Node) -> Node:
    return replace(node, op=replace(node.op, to=DType.U8)) if isinstance(node.op, Quantize) else node
