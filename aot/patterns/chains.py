"""Chains: the same pattern repeated one after the other, as often as it occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.patterns.leaves import Wildcard
from aot.patterns.pattern import PartialMatch, Pattern, PatternError, PatternValue, search

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
