"""Nodes that read only constants become constants."""

from __future__ import annotations

from aot.ir.graph import Array, Graph, Node


def fold_constants(graph: Graph) -> Graph:
    constants: dict[str, Array] = dict(graph.constants)
    kept: list[Node] = []
    nexts = {state.next for state in graph.states}
    for node in graph.nodes:
        if set(node.reads) <= constants.keys() and not set(node.outputs) & nexts:
            arrays = [None if name is None else constants[name] for name in node.inputs]
            results = node.op.reference(arrays, graph.input_types(node), graph.output_types(node))
            constants.update(zip(node.outputs, results, strict=True))
        else:
            kept.append(node)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(kept, constants=constants)
