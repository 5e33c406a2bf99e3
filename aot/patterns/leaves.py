"""Patterns without parts: any value, a constant, an absent input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Graph
from aot.patterns.pattern import PartialMatch, Pattern, PatternValue


@dataclass(frozen=True, eq=False)
class Wildcard(Pattern):
    """Any value that is present."""

    name: str = ""  # for printing only

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        if value is not None:
            yield found

    def __str__(self) -> str:
        return self.name or "*"


@dataclass(frozen=True, eq=False)
class ConstantPattern(Pattern):
    """A constant of the graph; with a number, one whose elements all equal it."""

    number: float | None = None

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        array = graph.constants.get(value) if value is not None else None
        if array is not None and (self.number is None or bool(np.all(array == self.number))):
            yield found

    def __str__(self) -> str:
        return "constant" if self.number is None else f"constant {self.number:g}"


@dataclass(frozen=True, eq=False)
class Absent(Pattern):
    """An absent optional input."""

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        if value is None:
            yield found

    def __str__(self) -> str:
        return "absent"


def wildcard(name: str = "") -> Pattern:
    return Wildcard(name)


def constant(number: float | None = None) -> Pattern:
    return ConstantPattern(number)


def absent() -> Pattern:
    return Absent()
