"""Patterns with alternatives: one of several patterns, an optional node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.patterns.pattern import PartialMatch, Pattern, PatternError, PatternValue, search


@dataclass(frozen=True, eq=False)
class AnyOf(Pattern):
    """A value that matches one of the patterns; the first match counts."""

    patterns: tuple[Pattern, ...]

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        for pattern in self.patterns:
            yield from search(pattern, graph, value, found)

    def __str__(self) -> str:
        return f"({' | '.join(map(str, self.patterns))})"


def any_of(*patterns: Pattern) -> Pattern:
    """Returns a pattern that matches any of these. Raises PatternError for fewer than two."""
    if len(patterns) < 2:
        raise PatternError(f"any_of needs at least two patterns, not {len(patterns)}")
    return AnyOf(patterns)


def optional(around: Callable[[Pattern], Pattern], pattern: Pattern) -> Pattern:
    """Returns the pattern with or without a node around it: `optional(is_op("clamp"), x)`."""
    return any_of(around(pattern), pattern)
