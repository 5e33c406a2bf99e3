"""Pieces of a graph: nodes that run one after another, as a separate graph."""

from __future__ import annotations

from dataclasses import dataclass

from aot.ir.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Piece:
    """Nodes that run one after another, and the values that cross the border. Constants are inside."""

    owner: str  # empty if it stays on the core; the piece is then a single node
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def piece_of(graph: Graph, owner: str, nodes: tuple[Node, ...]) -> Piece:
    """Returns the piece of these nodes, with the values that cross its border."""
    made = {value for node in nodes for value in node.outputs}
    mine = {node.name for node in nodes}
    reads = dict.fromkeys(value for node in nodes for value in node.reads)
    inputs = tuple(value for value in reads if value not in made and value not in graph.constants)
    outputs = tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in graph.kept or any(reader.name not in mine for reader in graph.readers[value])
    )
    return Piece(owner, nodes, inputs, outputs)


def piece_graph(graph: Graph, piece: Piece) -> Graph:
    """Returns the piece as a separate graph, which computes the piece's outputs from its inputs."""
    mentioned = {v for node in piece.nodes for v in (*node.reads, *node.outputs)}
    return Graph(
        graph.name,
        piece.inputs,
        piece.outputs,
        piece.nodes,
        {name: kind for name, kind in graph.types.items() if name in mentioned},
        {name: array for name, array in graph.constants.items() if name in mentioned},
    )
