"""Nodes that read only constants become constants."""

from __future__ import annotations

from aot.ir.graph import Graph, Node
from aot.ir.types import Array
from aot.passes.outcome import Outcome, outcome


def fold_constants(graph: Graph) -> Outcome:
    """Computes the constants at compile time with the reference of each op."""
    constants: dict[str, Array] = dict(graph.constants)
    kept: list[Node] = []
    left: dict[str, str] = {}
    next_values = {state.next for state in graph.states}
    for node in graph.nodes:
        if not set(node.reads) <= constants.keys():
            kept.append(node)
        elif set(node.outputs) & next_values:
            kept.append(node)
            left[node.name] = "computes the next value of a state, which cannot be a constant"
        else:
            arrays = [None if name is None else constants[name] for name in node.inputs]
            results = node.op.reference(arrays, graph.input_types(node), graph.output_types(node))
            constants.update(zip(node.outputs, results, strict=True))
    folded = graph if len(kept) == len(graph.nodes) else graph.with_nodes(kept, constants=constants)
    return outcome(graph, folded, left, "every node depends on an input or a state")
