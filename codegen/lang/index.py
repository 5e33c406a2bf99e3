"""Loop axes and positions, the affine sums of axes that index a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from codegen.lang.misuse import misuse
from codegen.lang.operators import OF_PLACES, WholeOperators, refuse_operators
from codegen.loops.affine import Affine, to_affine, variable

_MOST_TURNS = 2**31 - 1  # the limit of int32_t in C


_VALUE_OF: list[Callable[[Any], Any]] = []  # set by the module of values, which imports this one


def take_values(value_of: Callable[[Any], Any]) -> None:
    """Sets the function that converts a position to a value for operators that need one."""
    _VALUE_OF[:] = [value_of]


@dataclass(frozen=True, eq=False)
class Position(WholeOperators[Any]):
    """A sum of axes with integer factors. Shifts, bit operations and divisions turn it into a value."""

    affine: Affine
    extents: Mapping[str, int] = field(default_factory=dict)  # of its axes
    __array_ufunc__ = None  # a NumPy number on the left leaves the operator to the position

    def __add__(self, other: Position | int) -> Position:
        if not isinstance(other, Position | Integral):
            return NotImplemented  # the value's operator adds the position
        other = to_position(other)
        return Position(self.affine + other.affine, {**self.extents, **other.extents})

    __radd__ = __add__

    def __sub__(self, other: Position | int) -> Position:
        if not isinstance(other, Position | Integral):
            return NotImplemented
        return self + to_position(other) * -1

    def __rsub__(self, other: Position | int) -> Position:
        return to_position(other) - self

    def __mul__(self, factor: int) -> Position:
        if not isinstance(factor, Position | Integral | float):
            return NotImplemented
        if not isinstance(factor, Integral):
            raise misuse(
                f"a position can be multiplied by a number, not by {type(factor).__name__}",
                "an index must be a sum of axes times numbers",
            )
        return Position(self.affine * int(factor), self.extents)

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> Any:
        return self._as_value() < other

    def __gt__(self, other: Any) -> Any:
        return self._as_value() > other

    def __le__(self, other: Any) -> Any:
        return self._as_value() <= other

    def __ge__(self, other: Any) -> Any:
        return self._as_value() >= other

    def __eq__(self, other: Any) -> Any:
        return self._as_value() == other

    def __ne__(self, other: Any) -> Any:
        return self._as_value() != other

    def _by(self, op: str, other: Any) -> Any:
        return self._as_value()._by(op, other)

    def _under(self, op: str, other: Any) -> Any:
        return self._as_value()._under(op, other)

    __hash__ = object.__hash__

    def _as_value(self) -> Any:
        (to_value,) = _VALUE_OF
        return to_value(self)

    @property
    def least(self) -> int:
        return self.affine.constant + sum(min(0, f * (self.extents[v] - 1)) for v, f in self.affine.terms)

    @property
    def most(self) -> int:
        return self.affine.constant + sum(max(0, f * (self.extents[v] - 1)) for v, f in self.affine.terms)


refuse_operators(Position, "places", OF_PLACES)


class Axis(Position):
    """A loop from 0 to below its extent."""

    def __init__(self, name: str, extent: int) -> None:
        if not name.isidentifier():
            raise misuse(f'"{name}" is not a valid axis name', "use a Python identifier")
        if not 1 <= extent <= _MOST_TURNS:
            raise misuse(f"the extent of axis {name} must be 1 to {_MOST_TURNS:,}, not {extent}")
        super().__init__(variable(name), {name: extent})
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "extent", extent)

    name: str = field(init=False)
    extent: int = field(init=False)


def to_position(value: Position | int) -> Position:
    if isinstance(value, Position):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return Position(to_affine(int(value)))
    raise misuse(f"{value!r} is not an index", "use a number, or a sum of axes times numbers")
