"""Nodes that return their input unchanged are removed."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.text import type_text
from aot.ops.activation import Activation
from aot.ops.op import required
from aot.ops.pooling import Pool2d
from aot.ops.quantize import Quantize
from aot.ops.reshape import Reshape
from aot.passes.names import rename_reads
from aot.passes.outcome import Miss, Outcome, outcome


def remove_identity(graph: Graph) -> Outcome:
    """Requires the same type on both sides, quantization included."""
    before, index, left = graph, 0, dict[str, str]()
    while index < len(graph.nodes):
        node = graph.nodes[index]
        shorter = _without(node, graph) if _may_be_identity(node) else None
        if isinstance(shorter, Graph):
            graph = shorter
            continue
        index += 1
        if shorter is not None:
            left[node.name] = shorter.because
    return outcome(before, graph, left, "no node only reshapes, requantises, or pools single pixels")


def _may_be_identity(node: Node) -> bool:
    if isinstance(node.op, Pool2d):
        return node.op.size == (1, 1) and node.op.activation is Activation.NONE
    return isinstance(node.op, Reshape | Quantize)


def _without(node: Node, graph: Graph) -> Graph | Miss:
    (x,), (y,) = graph.input_types(node), graph.output_types(node)
    if x != y:
        return Miss(f"gives {type_text(y)} for {type_text(required(x))}")
    (source,), (result,) = node.reads, node.outputs
    others = [other for other in graph.nodes if other is not node]
    if result not in graph.kept:
        return graph.with_nodes(rename_reads(others, {result: source}))
    # An output keeps its name, so its producer takes over the name, if it can.
    if source not in graph.producers or source in graph.kept:
        return Miss(f'gives "{source}" the name "{result}", too, by which it leaves the graph')
    renamed = rename_reads(others, {source: result})
    return graph.with_nodes(replace(n, outputs=_renamed(n.outputs, source, result)) for n in renamed)


def _renamed(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)
