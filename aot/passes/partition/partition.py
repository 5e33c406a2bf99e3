"""Partition: which nodes of a graph go elsewhere, and the pieces in which the graph then runs.

What an owner claims together is one region, and neighboring regions of one owner are merged. No region may
need what is computed elsewhere from its own results, since a region runs in one go.
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
    left_alone: Mapping[str, Reasons]  # owner -> the nodes that it does not have, and why not


def partition(graph: Graph, claims: Sequence[Claims]) -> Partition:
    """The pieces. Of two owners that claim one node, the first has it.

    Raises ModelError for a region of nothing or of what does not exist, and for a node claimed twice by one.
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
