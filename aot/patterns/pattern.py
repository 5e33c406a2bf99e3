"""A pattern describes a value of a graph by the nodes that compute it; a match names these nodes.

A pattern object used twice inside another must match the same value both times. Matching tries all
alternatives in order and returns the first that holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aot.errors import DeployError
from aot.ir.graph import Graph, Node

PatternValue = str | None  # a value's name, or None for an absent input


class PatternError(DeployError):
    """Raised for a pattern that can match nothing, because it uses an unknown name."""


@dataclass(frozen=True, eq=False)
class Pattern(ABC):
    """Base of all patterns. Compared by identity: two equal-looking patterns may match different values."""

    @abstractmethod
    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        """Yields all ways in which the value matches, consistent with the bindings found so far."""

    @abstractmethod
    def __str__(self) -> str:
        """Returns the pattern as errors and pages show it."""


@dataclass(frozen=True)
class PartialMatch:
    """The bindings known during matching."""

    values: Mapping[Pattern, PatternValue] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()

    def with_value(self, pattern: Pattern, value: PatternValue) -> PartialMatch:
        return PartialMatch({**self.values, pattern: value}, self.nodes)

    def with_node(self, node: Node) -> PartialMatch:
        return self if node in self.nodes else PartialMatch(self.values, (*self.nodes, node))


@dataclass(frozen=True)
class Match:
    """A match of a pattern: its value, the nodes of its ops, the value of each part."""

    value: str
    nodes: tuple[Node, ...]  # in graph order
    values: Mapping[Pattern, PatternValue] = field(repr=False)

    def __getitem__(self, part: Pattern) -> str:
        """Returns the value of a part. Raises KeyError if the alternative that matched lacks that part."""
        value = self.values[part]
        if value is None:
            raise KeyError(f"{part} is absent")
        return value


def search(
    pattern: Pattern, graph: Graph, value: PatternValue, found: PartialMatch
) -> Iterator[PartialMatch]:
    """Yields all ways in which the value matches; a pattern with a value already matches only that value."""
    if pattern in found.values:
        if found.values[pattern] == value:
            yield found
        return
    for way in pattern.ways(graph, value, found):
        yield way.with_value(pattern, value)


def match(pattern: Pattern, graph: Graph, value: str) -> Match | None:
    """Returns the first way in which a value of the graph matches, or None."""
    way = next(search(pattern, graph, value, PartialMatch()), None)
    if way is None:
        return None
    names = {node.name for node in way.nodes}
    return Match(value, tuple(node for node in graph.nodes if node.name in names), way.values)


def matches(pattern: Pattern, graph: Graph) -> Iterator[Match]:
    """Yields the matches at the outputs of all nodes, in graph order; they may overlap."""
    for node in graph.nodes:
        for value in node.outputs:
            found = match(pattern, graph, value)
            if found is not None:
                yield found
