"""Equal constants are merged, and so are nodes with equal ops and inputs."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.op import Op
from aot.passes.outcome import Outcome, outcome
from aot.passes.values import rename_reads

_Key = tuple[Op, tuple[str | None, ...], tuple[TensorType, ...]]


def merge_duplicates(graph: Graph) -> Outcome:
    """Keeps the first of each kind, and nodes that compute outputs, so that these keep their names."""
    left: dict[str, str] = {}
    return outcome(graph, without_duplicates(graph, left), left, "no two nodes or constants are equal")


def without_duplicates(graph: Graph, left: dict[str, str] | None = None) -> Graph:
    """Returns the same graph object if nothing changes; `left` receives the nodes that stay, and why."""
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
        if left is not None and twin is not node and kept[-1] is node:
            left[node.name] = f'computes the same as "{twin.name}", but computes an output or a state'
    return graph.with_nodes(rename_reads(kept, renamed)) if renamed else graph


def _equal_constants(graph: Graph) -> dict[str, str]:
    """Maps the names of duplicates to the first constant of the same type and content."""
    first: dict[tuple[TensorType, bytes], str] = {}
    renamed: dict[str, str] = {}
    for name, array in graph.constants.items():
        twin = first.setdefault((graph.types[name], array.tobytes()), name)
        if twin != name and name not in graph.kept:
            renamed[name] = twin
    return renamed
