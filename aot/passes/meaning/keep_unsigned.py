"""Unsigned bytes that are only moved stay unsigned, without conversion to signed and back."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.concat import Concat
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.outcome import Outcome, outcome

_MOVES = (Concat, Rearrange, Reshape)  # copy stored elements unchanged
_STEP = 128  # from a signed zero point to the equivalent unsigned one


def keep_unsigned(graph: Graph) -> Outcome:
    """Makes values between equivalent conversions unsigned; the conversions become identities."""
    moved = _only_moved(graph)
    types = {value: unsigned for value in moved if (unsigned := _unsigned(graph.types[value]))}
    nodes = [_made_unsigned(node) if node.outputs[0] in moved else node for node in graph.nodes]
    changed = graph.with_nodes(nodes, types=types) if moved else graph
    return outcome(graph, changed, _left_alone(graph, moved), "no unsigned bytes are converted to signed")


def _left_alone(graph: Graph, moved: frozenset[str]) -> dict[str, str]:
    """Returns the readers that need signed bytes, for each conversion to signed bytes that stays."""
    left = {}
    for node in graph.nodes:
        (value, *_) = node.outputs
        if not _keeps_meaning(node, graph) or value in moved or graph.types[value].dtype is not DType.I8:
            continue
        if value in graph.kept:
            left[node.name] = f'computes "{value}", which is signed outside of the graph'
            continue
        readers = [n for n in graph.readers[value] if not _moves_within(n, moved)]
        names = ", ".join(f'"{n.name}" ({n.op.name})' for n in readers if not _keeps_meaning(n, graph))
        left[node.name] = f"computes signed bytes, which {names} needs signed"
    return left


def _only_moved(graph: Graph) -> frozenset[str]:
    """Returns the signed values whose producers and readers are all moves and equivalent conversions."""
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
    """Returns whether a node converts between a signed type and the equivalent unsigned type."""
    if not isinstance(node.op, Quantize):
        return False
    x, y = graph.types[node.reads[0]], graph.types[node.outputs[0]]
    return _unsigned(x) == y or _unsigned(y) == x


def _unsigned(signed: TensorType) -> TensorType | None:
    """Returns the equivalent unsigned type; None unless the type is signed bytes."""
    if signed.dtype is not DType.I8 or signed.quant is None or signed.quant.is_per_channel:
        return None
    (zero_point,) = signed.quant.zero_points
    quant = replace(signed.quant, zero_points=(zero_point + _STEP,))
    return replace(signed, dtype=DType.U8, quant=quant)


def _made_unsigned(node: Node) -> Node:
    return replace(node, op=replace(node.op, to=DType.U8)) if isinstance(node.op, Quantize) else node
