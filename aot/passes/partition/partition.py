"""Partitions a graph: assigns nodes to devices, and returns the pieces in which the graph runs.

Nodes that an owner claims together form one region, and neighboring regions of one owner are merged. A
region runs in one go, so its inputs must not depend on its own results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from aot.ir.graph import Graph, Node
from aot.passes.outcome import Reasons
from aot.passes.partition.claims import NOBODY, Claims, require_sound


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


class NodeGroups:
    """A graph whose nodes are merged into groups; a group is named after its first node."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = {node.name: node for node in graph.nodes}
        self._place = {name: place for place, name in enumerate(self._nodes)}
        self._members = {name: [name] for name in self._nodes}
        self._of = {name: name for name in self._nodes}  # node -> its group
        self._after: dict[str, set[str]] = {name: set() for name in self._nodes}  # group -> its readers
        self.owners = dict.fromkeys(self._nodes, NOBODY)  # by node
        for node in graph.nodes:
            makers = (graph.producers.get(value) for value in node.reads)
            for maker in (maker for maker in makers if maker is not None):
                self._after[maker.name].add(node.name)

    def obstacle(self, region: Sequence[str]) -> str:
        """Explains why these nodes cannot form a region; empty if they can."""
        other = next((self.owners[name] for name in region if self.owners[name] != NOBODY), None)
        if other is not None:
            return f"{other} owns a part of the region"
        way = self._way_back({self._of[name] for name in region})
        return f'"{way}" is between the nodes of the region' if way else ""

    def take(self, owner: str, region: Sequence[str]) -> None:
        self._join({self._of[name] for name in region})
        self.owners |= dict.fromkeys(region, owner)

    def merge_neighbours(self, owners: Collection[str]) -> None:
        """Merges groups of one of these owners that read each other, until no two can be merged."""
        while (pair := self._next_pair(owners)) is not None:
            self._join(pair)

    def in_order(self) -> Iterator[tuple[str, tuple[Node, ...]]]:
        """Yields owner and nodes of each group, in graph order as far as dependencies allow."""
        waits = dict.fromkeys(self._after, 0)
        for reader in (reader for readers in self._after.values() for reader in readers):
            waits[reader] += 1
        ready = [(self._place[group], group) for group, count in waits.items() if not count]
        heapify(ready)
        while ready:
            _, group = heappop(ready)
            members = sorted(self._members[group], key=self._place.__getitem__)
            yield self.owners[group], tuple(self._nodes[name] for name in members)
            for reader in self._after[group]:
                waits[reader] -= 1
                if not waits[reader]:
                    heappush(ready, (self._place[reader], reader))

    def _next_pair(self, owners: Collection[str]) -> set[str] | None:
        for group, readers in self._after.items():
            owner = self.owners[group]
            mine = [reader for reader in readers if owner == self.owners[reader] and owner in owners]
            for reader in sorted(mine, key=self._place.__getitem__):
                if not self._way_back({group, reader}):
                    return {group, reader}
        return None

    def _way_back(self, groups: set[str]) -> str:
        """Returns a group on a path that leaves these groups and comes back; empty without such a path."""
        first = sorted({r for g in groups for r in self._after[g]} - groups, key=self._place.__getitem__)
        for start in first:
            due, seen = [start], {start}
            while due:
                readers = self._after[due.pop()]
                if readers & groups:
                    return start
                due += readers - seen
                seen |= readers
        return ""

    def _join(self, groups: set[str]) -> None:
        first, *others = sorted(groups, key=self._place.__getitem__)
        for other in others:
            self._members[first] += self._members.pop(other)
            self._after[first] |= self._after.pop(other)
        self._of |= dict.fromkeys(self._members[first], first)
        gone = set(others)
        for group, readers in self._after.items():
            if readers & gone:
                self._after[group] = (readers - gone) | {first}
        self._after[first] -= groups


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
