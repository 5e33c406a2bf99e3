"""Groups of nodes that run together: no group may depend on itself through other nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush

from aot.ir.graph import Graph, Node
from aot.passes.partition.claims import NOBODY


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
