"""Loop axes, and positions that are sums of them: what stands in the brackets behind a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codegen.lang.misuse import misuse
from codegen.loops.affine import Affine, to_affine, variable


@dataclass(frozen=True)
class Position:
    """A sum of axes, each times a number."""

    affine: Affine
    extents: Mapping[str, int] = field(default_factory=dict, compare=False)  # of the axes in it

    def __add__(self, other: Position | int) -> Position:
        if not isinstance(other, Position | int):
            return NotImplemented  # a value adds itself to a position
        other = to_position(other)
        return Position(self.affine + other.affine, {**self.extents, **other.extents})

    __radd__ = __add__

    def __sub__(self, other: Position | int) -> Position:
        if not isinstance(other, Position | int):
            return NotImplemented
        return self + to_position(other) * -1

    def __rsub__(self, other: Position | int) -> Position:
        return to_position(other) - self

    def __mul__(self, factor: int) -> Position:
        if not isinstance(factor, Position | int):
            return NotImplemented
        if not isinstance(factor, int):
            raise misuse(
                f"a position can be multiplied by a number, not by {type(factor).__name__}",
                "an index must be a sum of axes times numbers",
            )
        return Position(self.affine * factor, self.extents)

    __rmul__ = __mul__

    @property
    def least(self) -> int:
        return self.affine.constant + sum(min(0, f * (self.extents[v] - 1)) for v, f in self.affine.terms)

    @property
    def most(self) -> int:
        return self.affine.constant + sum(max(0, f * (self.extents[v] - 1)) for v, f in self.affine.terms)


class Axis(Position):
    """A loop that runs from 0 to before its extent."""

    def __init__(self, name: str, extent: int) -> None:
        if not name.isidentifier():
            raise misuse(f'"{name}" is no name of an axis', "a name is an identifier of Python")
        if extent < 1:
            raise misuse(f"the axis {name} has the extent {extent}: it must be 1 or more")
        super().__init__(variable(name), {name: extent})
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "extent", extent)

    name: str = field(init=False)
    extent: int = field(init=False)


def to_position(value: Position | int) -> Position:
    if isinstance(value, Position):
        return value
    if isinstance(value, int):
        return Position(to_affine(value))
    raise misuse(f"{value!r} is no index", "an index is a number or a sum of axes times numbers")
