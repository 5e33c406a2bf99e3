"""Knobs: choices that a strategy leaves open, the values worth trying, and the default point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from types import MappingProxyType

Point = Mapping[str, int]  # a value for every knob of a space
NOT_TUNED: Mapping[str, Point] = MappingProxyType({})  # by task


@dataclass(frozen=True, slots=True)
class Knob:
    """One choice of a strategy."""

    name: str
    values: tuple[int, ...]
    is_written_out: bool = False  # its value is an unrolling factor
    widens_constants: bool = False  # larger values need more flash for constants


def any_point(_point: Point) -> bool:
    """Accepts every point: the rule of spaces without impossible points."""
    return True


@dataclass(frozen=True)
class Space:
    """The knobs of one kernel; `task` is their name in tuning records."""

    task: str
    knobs: tuple[Knob, ...]
    default: Point
    is_legal: Callable[[Point], bool] = field(default=any_point, compare=False)
    extents: Mapping[str, int] = field(default_factory=dict)  # knob -> the loop that it divides

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Returns every legal point, the default first, the others in the order of the knobs' values."""
        return (self.default, *self._beside_default())

    @property
    def has_choice(self) -> bool:
        """Returns whether there is a legal point besides the default, without listing all."""
        return any(True for _ in self._beside_default())

    def _beside_default(self) -> Iterator[Point]:
        values = product(*(knob.values for knob in self.knobs))
        every = (dict(zip((k.name for k in self.knobs), point, strict=True)) for point in values)
        return (p for p in every if p != self.default and self.is_legal(p))

    def without_wider_constants(self) -> Space:
        """Returns the points whose constants need no more flash than the default's."""
        knobs = (
            replace(knob, values=tuple(value for value in knob.values if value <= self.default[knob.name]))
            if knob.widens_constants
            else knob
            for knob in self.knobs
        )
        return replace(self, knobs=tuple(knobs))

    def shorter(self, point: Point) -> Iterator[Point]:
        """Returns similar legal points with less unrolling, the most unrolled first."""
        choices = [
            [value for value in knob.values if value <= point[knob.name]]
            if knob.is_written_out
            else [point[knob.name]]
            for knob in self.knobs
        ]
        longest_first = sorted(product(*choices), key=lambda values: (prod(values), values), reverse=True)
        names = [knob.name for knob in self.knobs]
        every = (dict(zip(names, values, strict=True)) for values in longest_first)
        return (p for p in every if p != point and self.is_legal(p))

    def holds(self, point: Point) -> bool:
        """Returns whether the point sets exactly this space's knobs to legal values."""
        names = {knob.name for knob in self.knobs}
        known = point.keys() == names and all(point[k.name] in k.values for k in self.knobs)
        return point == self.default or (known and self.is_legal(point))

    def chosen(self, tuned: Mapping[str, Point]) -> Point:
        """Returns the measured point if it is possible here, else the default."""
        found = {**self.default, **tuned.get(self.task, {})}
        return found if self.holds(found) else self.default


UNROLL_KNOB = Knob("unroll", (1, 2, 4, 8), is_written_out=True)


def unroll_space(task: str, extent: int) -> Space:
    """Returns the space of a loop whose body may be unrolled several times."""

    def divides(point: Point) -> bool:
        return extent % point["unroll"] == 0

    return Space(task, (UNROLL_KNOB,), {"unroll": 1}, divides, {"unroll": extent})


def point_text(point: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items())
