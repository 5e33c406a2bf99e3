"""Values with rows of which the run decides how many there are: a value has as many as there can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows along a dimension, as it is stored, of which the first are there: as many as `owner` counts."""

    axis: int
    owner: str  # the result in the file whose rows they are


@dataclass
class Counts(Generic[T]):
    """All of them, by the value's name; `counts` has the value that says how many, by owner."""

    rows: dict[str, CountedRows] = field(default_factory=dict)
    counts: dict[str, T] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)  # constants made of the number of rows that there can be

    zeros: set[str] = field(default_factory=set)  # values whose filler is 0

    def begin(self, name: str, owner: str, count: T) -> None:
        """The rows of an owner, which are the first dimension and 0 where they are not there."""
        self.add(name, 0, owner, count)
        self.zeros.add(name)

    def add(self, name: str, axis: int, owner: str, count: T) -> None:
        self.rows[name] = CountedRows(axis, owner)
        self.counts[owner] = count

    def owners(self, names: Sequence[str]) -> list[str]:
        """The owners whose count says something of these values, each once."""
        return list(dict.fromkeys(self.rows[name].owner for name in names if name in self.rows))
