"""Values whose number of rows is known only at run time: a value has the maximal number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows along a stored dimension: `owner` counts how many, the first ones, are valid."""

    axis: int
    owner: str  # the result in the file that the rows belong to


@dataclass
class Counts(Generic[T]):
    """Counted rows by the value's name; `counts` maps each owner to the value with its count."""

    rows: dict[str, CountedRows] = field(default_factory=dict)
    counts: dict[str, T] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)  # constants that hold the maximal number of rows

    zeros: set[str] = field(default_factory=set)  # values whose filler is 0

    def begin(self, name: str, owner: str, count: T) -> None:
        """Registers an owner's rows: they are the first dimension, and filler is 0."""
        self.add(name, 0, owner, count)
        self.zeros.add(name)

    def add(self, name: str, axis: int, owner: str, count: T) -> None:
        self.rows[name] = CountedRows(axis, owner)
        self.counts[owner] = count

    def owners(self, names: Sequence[str]) -> list[str]:
        """Returns the owners whose count applies to these values, each once."""
        return list(dict.fromkeys(self.rows[name].owner for name in names if name in self.rows))
