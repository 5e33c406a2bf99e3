"""Patterns of many nodes: the same pattern repeated in a chain, and all paths between two values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.patterns.pattern import PartialMatch, Pattern, PatternError, PatternValue, Wildcard, search

Link = Callable[[Pattern], Pattern]


@dataclass(frozen=True, eq=False)
class Chain(Pattern):
    """Links on top of a value that matches `first`; the longest chain is tried first.

    `link` is called for each link, with a pattern for the link's input. Patterns that `link` only refers to
    must match the same value in all links.
    """

    link: Link
    first: Pattern
    least: int
    most: int | None

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        stack = [(value, found, self._longer(graph, value, found))]
        while stack:  # chains may be longer than Python's recursion limit
            here, so_far, longer = stack[-1]
            count = len(stack) - 1
            below = next(longer, None) if self.most is None or count < self.most else None
            if below is not None:
                stack.append((*below, self._longer(graph, *below)))
                continue
            stack.pop()
            if count >= self.least:
                yield from search(self.first, graph, here, so_far)

    def _longer(
        self, graph: Graph, value: PatternValue, found: PartialMatch
    ) -> Iterator[tuple[PatternValue, PartialMatch]]:
        """Yields the inputs of a link that computes this value."""
        hole = Wildcard("previous")
        for way in search(self.link(hole), graph, value, found):
            yield way.values[hole], way

    def __str__(self) -> str:
        often = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return f"{{{self.link(Wildcard('previous'))} {often} times from {self.first}}}"


def chain(link: Link, first: Pattern, least: int = 1, most: int | None = None) -> Pattern:
    """Returns a chain: `chain(lambda x: is_op("add")(x, constant()), wildcard())`. Raises PatternError."""
    if least < 0 or (most is not None and most < max(least, 1)):
        raise PatternError(f"a chain cannot have {least} to {most} links")
    hole = Wildcard("previous")
    if link(hole) is hole:
        raise PatternError("a link of a chain must contain more than its input")
    return Chain(link, first, least, most)


@dataclass(frozen=True, eq=False)
class Dominated(Pattern):
    """A value `last` computed from one value that matches `first`, through nodes that all match `path`.

    Constants may enter anywhere. The values of `first` and of the path have no other readers.
    """

    first: Pattern
    path: Pattern
    last: Pattern

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        for end in search(self.last, graph, value, found):
            added = [node for node in end.nodes if node not in found.nodes]
            for origin in _origins(graph, added):
                for begin in search(self.first, graph, origin, end):
                    inside = self._inside(graph, added, origin)
                    if inside is not None:
                        yield _with_nodes(begin, inside)

    def _inside(self, graph: Graph, last: list[Node], origin: str) -> list[Node] | None:
        """Returns the nodes on the paths from `origin`; None if one does not match or is read outside."""
        inside: dict[str, Node] = {}
        due = [value for node in last for value in node.reads]
        while due:
            value = due.pop()
            maker = graph.producers.get(value)
            if value == origin or value in graph.constants or maker in last:
                continue
            if maker is None or not _matches(self.path, graph, value):
                return None
            if maker.name not in inside:
                inside[maker.name] = maker
                due += maker.reads
        readers = {*inside, *(node.name for node in last)}
        made = [origin, *(value for node in inside.values() for value in node.outputs)]
        leaves = any(value in graph.kept or not _names(graph, value) <= readers for value in made)
        return None if leaves else list(inside.values())

    def __str__(self) -> str:
        return f"{{{self.last} over {self.path} from {self.first}}}"


def dominated(first: Pattern, path: Pattern, last: Pattern) -> Pattern:
    return Dominated(first, path, last)


def _origins(graph: Graph, nodes: list[Node]) -> list[str]:
    """Returns the non-constant inputs of these nodes and of the nodes before them, nearest first."""
    found: dict[str, None] = {}
    due = [value for node in nodes for value in node.reads]
    while due:
        value = due.pop(0)
        if value in graph.constants or value in found:
            continue
        found[value] = None
        maker = graph.producers.get(value)
        due += maker.reads if maker is not None else ()
    return list(found)


def _matches(pattern: Pattern, graph: Graph, value: str) -> bool:
    return next(search(pattern, graph, value, PartialMatch()), None) is not None


def _names(graph: Graph, value: str) -> set[str]:
    return {node.name for node in graph.readers[value]}


def _with_nodes(found: PartialMatch, nodes: list[Node]) -> PartialMatch:
    for node in nodes:
        found = found.with_node(node)
    return found
