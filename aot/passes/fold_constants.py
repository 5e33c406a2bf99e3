"""Nodes that read only constants become constants."""

from __future__ import annotations

from aot.ir.graph import Array, Graph, Node


def fold_constants(graph: Graph) -> Graph:
    """A node that makes an output of the graph stays: outputs are written when the model runs."""
    constants: dict[str, Array] = dict(graph.constants)
    kept: list[Node] = []
    for node in graph.nodes:
        if set(node.reads) <= constants.keys() and not set(node.outputs) & set(graph.kept):
            arrays = [None if name is None else constants[name] for name in node.inputs]
            results = node.op.reference(arrays, graph.input_types(node), graph.output_types(node))
            constants.update(zip(node.outputs, results, strict=True))
        else:
            kept.append(node)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(kept, constants=constants)
