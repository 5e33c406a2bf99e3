"""Constants of the graph's operators: their hashes, and the corresponding constants in the C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.text import type_text
from aot.ir.types import Array
from deploy.proving.c_functions import sha256_of
from deploy.proving.chapter import Cell, Table

_COLUMNS = (
    "operator",
    "in the model file",
    "constant",
    "element type and shape",
    "bytes",
    "SHA-256",
    "in the C",
)


def constants_of_node(node: Node, graph: Graph) -> dict[str, Array]:
    """Returns the node's constants by name in the graph, including those of a region's nodes."""
    found = {
        name: graph.constants[name] for name in node.inputs if name is not None and name in graph.constants
    }
    if isinstance(node.op, DeviceRegion):
        found |= node.op.graph.constants
    return found


def operands_table(
    graph: Graph, computed_by: Mapping[str, str], constants_of_layers: Mapping[str, Sequence[str]]
) -> Table:
    """Returns a row for each constant of an operator, and for each initial state."""
    return Table(
        "Constants of the operators", _COLUMNS, tuple(_rows(graph, computed_by, constants_of_layers))
    )


def _rows(
    graph: Graph, computed_by: Mapping[str, str], constants_of_layers: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Cell, ...]]:
    for node in graph.nodes:
        packed = ", ".join(constants_of_layers.get(computed_by.get(node.name, ""), ())) or "no constant"
        for name, data in constants_of_node(node, graph).items():
            yield node.name, node.origin, name, _kind(data, graph, name), data.nbytes, sha256_of(data), packed
    for state in graph.states:
        data = state.initial
        kind = _kind(data, graph, state.name)
        yield "", "", state.name, kind, data.nbytes, sha256_of(data), "what the state begins with"


def _kind(data: Array, graph: Graph, name: str) -> str:
    """Returns the type without scales, which are part of the graph's text."""
    known = graph.types.get(name)
    words = f"{data.dtype.name}[{','.join(map(str, data.shape))}]" if known is None else type_text(known)
    return words.partition(" ")[0]
