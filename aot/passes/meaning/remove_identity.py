"""Nodes that return their input unchanged are removed."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.text import type_text
from aot.ops.activation import Activation
from aot.ops.quantize import Quantize
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pool2d
from aot.passes.outcome import Miss, Outcome, outcome


def remove_identity(graph: Graph) -> Outcome:
    """Requires the same type on both sides, quantization included."""
    kept, renamed, left = list[Node](), _Renamed(), dict[str, str]()
    for node in graph.nodes:
        if not _may_be_identity(node):
            kept.append(node)
        elif (why_not := renamed.without(node, graph)) is not None:
            kept.append(node)
            left[node.name] = why_not.because
    changed = graph.with_nodes(map(renamed.apply, kept)) if len(kept) < len(graph.nodes) else graph
    return outcome(
        graph, changed, left, "no node is an identity (reshape, requantize, or pool of single pixels)"
    )


def _may_be_identity(node: Node) -> bool:
    if isinstance(node.op, Pool2d):
        return node.op.size == (1, 1) and node.op.activation is Activation.NONE
    return isinstance(node.op, Reshape | Quantize)


class _Renamed:
    """The values that others replace, of all nodes that were removed so far."""

    def __init__(self) -> None:
        self._source: dict[str, str] = {}  # result of a removed node -> the value that it passed on
        self._output: dict[str, str] = {}  # value -> the graph's output that it became

    def __call__(self, value: str) -> str:
        source = self._source.get(value, value)
        return self._output.get(source, source)

    def apply(self, node: Node) -> Node:
        inputs = tuple(name and self(name) for name in node.inputs)
        outputs = tuple(map(self, node.outputs))
        same = (inputs, outputs) == (node.inputs, node.outputs)
        return node if same else replace(node, inputs=inputs, outputs=outputs)

    def without(self, node: Node, graph: Graph) -> Miss | None:
        """Passes on the node's input instead of its result; or returns why that is impossible."""
        source, (result,) = self(node.reads[0]), node.outputs
        x, y = graph.types[source], graph.types[result]
        if x != y:
            return Miss(f"returns {type_text(y)} for {type_text(x)}")
        if result not in graph.kept:
            self._source[result] = source
            return None
        # An output keeps its name, so its producer gets the name, if possible.
        if source not in graph.producers or source in graph.kept:
            return Miss(f'gives "{source}" a second name, "{result}", which is used outside of the graph')
        self._output[source] = result
        return None
