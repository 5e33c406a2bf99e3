"""Equal constants become one, and nodes that compute the same from the same become one."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.op import Op
from aot.passes.names import rename_reads

_Key = tuple[Op, tuple[str | None, ...], tuple[TensorType, ...]]


def merge_duplicates(graph: Graph) -> Graph:
    """The first of each kind stays; a node that makes an output of the graph stays in any case."""
    renamed = _equal_constants(graph)
    first: dict[_Key, Node] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node = replace(node, inputs=tuple(name and renamed.get(name, name) for name in node.inputs))
        twin = first.setdefault((node.op, node.inputs, graph.output_types(node)), node)
        if twin is node or set(node.outputs) & set(graph.kept):
            kept.append(node)
        else:
            renamed.update(zip(node.outputs, twin.outputs, strict=True))
    return graph.with_nodes(rename_reads(kept, renamed)) if renamed else graph


def _equal_constants(graph: Graph) -> dict[str, str]:
    """Names of later twins to the name of the first constant of the same type and content."""
    first: dict[tuple[TensorType, bytes], str] = {}
    renamed: dict[str, str] = {}
    for name, array in graph.constants.items():
        twin = first.setdefault((graph.types[name], array.tobytes()), name)
        if twin != name and name not in graph.kept:
            renamed[name] = twin
    return renamed
