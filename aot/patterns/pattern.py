"""A pattern describes a value of a graph by the nodes behind it; a match says which they are.

A pattern that stands in two places of another must be the same value in both. Matching tries all ways that
alternatives leave open, in their order, and answers with the first that holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aot.errors import DeployError
from aot.ir.graph import Graph, Node

PatternValue = str | None  # a value's name, or None for an input that is absent


class PatternError(DeployError):
    """A pattern that can match nothing, because something in it does not exist."""


@dataclass(frozen=True, eq=False)
class Pattern(ABC):
    """Base of all patterns. Each is itself alone: two that look alike may match different values."""

    @abstractmethod
    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        """All ways in which the value matches, beside what has been found."""

    @abstractmethod
    def __str__(self) -> str:
        """The pattern as errors and pages show it."""


@dataclass(frozen=True)
class PartialMatch:
    """The bindings that are known in the middle of matching."""

    values: Mapping[Pattern, PatternValue] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()

    def with_value(self, pattern: Pattern, value: PatternValue) -> PartialMatch:
        return PartialMatch({**self.values, pattern: value}, self.nodes)

    def with_node(self, node: Node) -> PartialMatch:
        return self if node in self.nodes else PartialMatch(self.values, (*self.nodes, node))


@dataclass(frozen=True)
class Match:
    """A place where a pattern holds: its value, the nodes whose ops it names, the value of each part."""

    value: str
    nodes: tuple[Node, ...]  # in the graph's order
    values: Mapping[Pattern, PatternValue] = field(repr=False)

    def __getitem__(self, part: Pattern) -> str:
        """The value of a part of the pattern. Raises KeyError where the way that matched does not have it."""
        value = self.values[part]
        if value is None:
            raise KeyError(f"{part} is absent")
        return value


def search(
    pattern: Pattern, graph: Graph, value: PatternValue, found: PartialMatch
) -> Iterator[PartialMatch]:
    """All ways in which the value matches; a pattern that has a value already matches that one only."""
    if pattern in found.values:
        if found.values[pattern] == value:
            yield found
        return
    for way in pattern.ways(graph, value, found):
        yield way.with_value(pattern, value)


def match(pattern: Pattern, graph: Graph, value: str) -> Match | None:
    """The first way in which a value of the graph matches."""
    way = next(search(pattern, graph, value, PartialMatch()), None)
    if way is None:
        return None
    names = {node.name for node in way.nodes}
    return Match(value, tuple(node for node in graph.nodes if node.name in names), way.values)


def matches(pattern: Pattern, graph: Graph) -> Iterator[Match]:
    """The matches at the results of all nodes, in the graph's order; they may overlap."""
    for node in graph.nodes:
        for value in node.outputs:
            found = match(pattern, graph, value)
            if found is not None:
                yield found
