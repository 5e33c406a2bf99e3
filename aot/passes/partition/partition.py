"""Partition: which nodes of a graph go elsewhere, and the pieces in which the graph then runs.

What an owner claims together is one region, and neighbouring regions of one owner are merged. No region may
need what is computed elsewhere from its own results, since a region runs at one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.passes.outcome import Reasons
from aot.passes.partition.claims import NOBODY, Claim, require_sound
from aot.passes.partition.node_groups import NodeGroups
from aot.passes.partition.pieces import Piece, piece_of


@dataclass(frozen=True, slots=True)
class Partition:
    """All nodes of a graph in pieces, each after those whose results it reads."""

    pieces: tuple[Piece, ...]
    left_alone: Reasons  # nodes that were claimed in vain


def partition(graph: Graph, claims: Sequence[Claim]) -> Partition:
    """The pieces. Of two owners that claim one node, the first has it, and the other's claim is left alone.

    Raises ModelError for a claim of nothing or of what does not exist, and for a node claimed twice.
    """
    require_sound(graph, claims)
    groups, left_alone = NodeGroups(graph), dict[str, str]()
    for claim in claims:
        reason = groups.refusal(claim)
        if reason:
            left_alone |= dict.fromkeys(claim.nodes, f"{claim.owner} leaves it alone: {reason}")
        else:
            groups.take(claim)
    groups.merge_neighbours()
    taken = {name for name, owner in groups.owners.items() if owner != NOBODY}
    why = {name: reason for name, reason in left_alone.items() if name not in taken}
    return Partition(tuple(piece_of(graph, owner, nodes) for owner, nodes in groups.in_order()), why)
