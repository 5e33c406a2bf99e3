"""Buffers of intervals, observations during the analysis, and interval arithmetic.

An interval is a pair (least, greatest) of integers; None represents a float, whose value is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

Interval = tuple[int, int] | None
_BOOL = (0, 1)
_BEYOND = 2**64  # beyond every C integer
_MOST_CALLS = 1024  # enumerate a function's arguments only up to this number


def limits_of(dtype: DType) -> Interval:
    if dtype is DType.BOOL:
        return _BOOL
    return dtype.limits if dtype.is_integer else None


@dataclass(slots=True)
class Hull:
    """The union of all values of buffers with the same name since the start of the analysis."""

    name: str
    limits: Interval
    least: int = _BEYOND
    greatest: int = -_BEYOND
    spans: set[int] = field(default_factory=set)  # spans of the elements' intervals
    is_sum: bool = False  # something was added to it

    def take(self, value: tuple[int, int]) -> None:
        self.least, self.greatest = min(self.least, value[0]), max(self.greatest, value[1])
        self.spans.add(value[1] - value[0])


@dataclass(slots=True)
class Cells:
    """A buffer with an interval for each element."""

    at: list[Interval]
    hull: Hull


@dataclass
class Notes:
    """Findings of an analysis: values that may overflow, or indices that may be out of bounds."""

    sentences: dict[str, None] = field(default_factory=dict)  # in order of discovery
    results: dict[tuple[str, tuple[Interval, ...]], Interval] = field(default_factory=dict)

    def within(self, value: tuple[int, int], limits: tuple[int, int], what: str) -> tuple[int, int]:
        """Returns the value, or the full range of its type if it may overflow."""
        if value[0] >= limits[0] and value[1] <= limits[1]:
            return value
        self.sentences[f"{what} may reach {value[0]:,} to {value[1]:,}"] = None
        return limits

    def store(self, cells: Cells, index: int, value: Interval) -> None:
        hull = cells.hull
        if hull.limits is None:
            cells.at[index] = None
            return
        known = self.within(value or hull.limits, hull.limits, f"what is stored in {hull.name}")
        hull.take(known)
        _put(cells, index, known)

    def accumulate(self, cells: Cells, index: int, value: Interval) -> None:
        hull, before = cells.hull, cells.at[index]
        if hull.limits is None or before is None or value is None:
            return
        total = before[0] + value[0], before[1] + value[1]
        total = self.within(total, hull.limits, f"the sum in {hull.name}")
        hull.is_sum = True
        hull.take(total)
        _put(cells, index, total)

    def element(self, cells: Cells, begin: int, number: Interval) -> Interval:
        """Returns the union of all elements that the index may select."""
        if number is None:
            return cells.hull.limits
        low, high = self.within(
            number, (-begin, len(cells.at) - 1 - begin), f"the number of {cells.hull.name}"
        )
        chosen = [each for each in cells.at[begin + low : begin + high + 1] if each is not None]
        return (min(each[0] for each in chosen), max(each[1] for each in chosen)) if chosen else None

    def apply(self, function: ScalarFunction, arguments: tuple[Interval, ...]) -> Interval:
        """Returns the union of all results if there are few arguments, else the result type's range."""
        key = function.name, arguments
        if key not in self.results:
            self.results[key] = _results(function, arguments)
        return self.results[key]


def _put(cells: Cells, index: int, value: tuple[int, int]) -> None:
    if index < 0:
        raise IndexError(f"{cells.hull.name}[{index}] lies before its first element")
    cells.at[index] = value


def _results(function: ScalarFunction, arguments: Sequence[Interval]) -> Interval:
    limits = limits_of(function.result)
    calls = 1
    for each in arguments:
        calls *= _MOST_CALLS + 1 if each is None else each[1] - each[0] + 1
    if limits is None or calls > _MOST_CALLS:
        return limits
    ranges = [range(each[0], each[1] + 1) for each in arguments if each is not None]
    found = [int(function.meaning(*given)) for given in product(*ranges)]
    return min(found), max(found)


def add(a: Interval, b: Interval) -> Interval:
    return None if a is None or b is None else (a[0] + b[0], a[1] + b[1])


def subtract(a: Interval, b: Interval) -> Interval:
    return None if a is None or b is None else (a[0] - b[1], a[1] - b[0])


def multiply(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return None
    if b[0] == b[1]:
        a, b = b, a
    if a[0] == a[1]:
        ends = a[0] * b[0], a[0] * b[1]
        return ends if ends[0] <= ends[1] else (ends[1], ends[0])
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _less(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return _BOOL
    return int(a[1] < b[0]), int(a[0] < b[1])


def _equal(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return _BOOL
    return int(a == b and a[0] == a[1]), int(a[0] <= b[1] and b[0] <= a[1])


def _least(a: Interval, b: Interval) -> Interval:
    return None if a is None or b is None else (min(a[0], b[0]), min(a[1], b[1]))


def _greatest(a: Interval, b: Interval) -> Interval:
    return None if a is None or b is None else (max(a[0], b[0]), max(a[1], b[1]))


def _shift_left(a: Interval, b: Interval) -> Interval:
    return None if b is None or b[0] < 0 else multiply(a, (1 << b[0], 1 << b[1]))


def _bits_of_both(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return None
    if a[0] == a[1] and b[0] == b[1]:  # as in numbers that the loops make of a constant's bytes
        return a[0] & b[0], a[0] & b[0]
    least = [each[1] for each in (a, b) if each[0] >= 0]
    if least:
        return 0, min(least)
    return -(1 << max(end.bit_length() for each in (a, b) for end in each)), max(a[1], b[1])


BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": add, "-": subtract, "*": multiply, "<": _less, "==": _equal, "min": _least, "max": _greatest,
    "<<": _shift_left, "&": _bits_of_both,
}  # fmt: skip


def cast(limits: Interval, value: Interval) -> Interval:
    """Converts an interval; values that may not fit become the full range of the type."""
    if limits is None or value is None:
        return limits
    return value if limits[0] <= value[0] and value[1] <= limits[1] else limits


def choose(condition: Interval, yes: Callable[[], Interval], no: Callable[[], Interval]) -> Interval:
    """Returns the selected operand, or the union of both. An unreachable operand is not evaluated."""
    if condition == (0, 0):
        return no()
    if condition is not None and (condition[0] > 0 or condition[1] < 0):
        return yes()
    a, b = yes(), no()
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
