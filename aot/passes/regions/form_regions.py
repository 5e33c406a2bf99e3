"""Nodes that a device claims become regions, ops that contain their graph, if the device can run them."""

from __future__ import annotations

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.passes.goals import STAYS, RegionGoal
from aot.passes.outcome import Outcome, outcome
from aot.passes.partition.partition import Piece, partition, piece_graph
from aot.passes.values import fresh_name


def form_regions(graph: Graph, goal: RegionGoal) -> Outcome:
    """Forms the regions. Nodes of a region that the device cannot run stay unchanged. Raises ModelError."""
    found = partition(graph, [goal.claim(graph)])
    left = dict(found.left_alone[goal.device])
    candidate = graph.with_nodes(_node(graph, piece) for piece in found.pieces)
    nodes: list[Node] = []
    formed = 0
    for piece, node in zip(found.pieces, candidate.nodes, strict=True):
        misfit = goal.misfit(candidate, node) if piece.owner else ""
        is_formed = bool(piece.owner) and not misfit
        formed += is_formed
        nodes += [node] if is_formed else piece.nodes
        left |= dict.fromkeys((each.name for each in piece.nodes), misfit) if misfit else {}
    after = graph.with_nodes(nodes) if formed else graph
    reasons = {node.name: STAYS + left[node.name] for node in graph.nodes if node.name in left}
    return outcome(graph, after, reasons, "there are no nodes")


def _node(graph: Graph, piece: Piece) -> Node:
    """Returns the node of a piece; unclaimed nodes are unchanged."""
    first, last = piece.nodes[0], piece.nodes[-1]
    if not piece.owner:
        return first
    taken = {node.name for node in graph.nodes} - {node.name for node in piece.nodes}
    name = first.name if first is last else f"{first.name}..{last.name}"
    origins = dict.fromkeys(node.origin for node in (first, last) if node.origin)
    op = DeviceRegion(piece.owner, piece_graph(graph, piece))
    return Node(fresh_name(name, taken), op, piece.inputs, piece.outputs, " to ".join(origins))
