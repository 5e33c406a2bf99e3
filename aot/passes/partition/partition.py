"""Partitions a graph: assigns nodes to devices, and returns the pieces in which the graph runs.

Nodes that an owner claims together form one region, and neighboring regions of one owner are merged. A
region runs in one go, so its inputs must not depend on its own results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.passes.outcome import Reasons
from aot.passes.partition.claims import Claims, require_sound
from aot.passes.partition.node_groups import NodeGroups
from aot.passes.partition.pieces import Piece, piece_of


@dataclass(frozen=True, slots=True)
class Partition:
    """All nodes of a graph in pieces, each after those whose results it reads."""

    pieces: tuple[Piece, ...]
    left_alone: Mapping[str, Reasons]  # owner -> the nodes that it does not own, and why


def partition(graph: Graph, claims: Sequence[Claims]) -> Partition:
    """Returns the pieces. If two owners claim a node, the first one gets it.

    Raises ModelError for an empty region, an unknown node, or a node claimed twice by one owner.
    """
    require_sound(graph, claims)
    groups, left_alone = NodeGroups(graph), {each.owner: dict(each.left_alone) for each in claims}
    for each in claims:
        for region in each.regions:
            obstacle = groups.obstacle(region)
            if obstacle:
                left_alone[each.owner] |= dict.fromkeys(region, obstacle)
            else:
                groups.take(each.owner, region)
    groups.merge_neighbours({each.owner for each in claims if each.merges})
    return Partition(tuple(piece_of(graph, owner, nodes) for owner, nodes in groups.in_order()), left_alone)
