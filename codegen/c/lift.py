"""Merges functions that differ only in integers, which become members of a struct.

    for xb in 24: ... x + xb * 16 ...              for xb in xb_count: ... x + xb * x_per_xb ...
    for xb in 12: ... x + xb * 32 ...      ->      with (24, 16) and (12, 32)

Integers that differ together are one parameter, even with different meanings. `with_numbers` substitutes the
numbers of a function again, which restores the original.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count

from codegen.c.tree import ArrayLength, Count, FunctionDefinition, Linear, Name, Number, Shape
from codegen.c.tree_walk import Node, changed, walk

_SHORT = range(-(2**15), 2**15)
_PLACE, _FACTOR = "_first", "_per_"  # in the suggested names of a place and of what a loop multiplies
_TIMES = range(1, 9)  # of a step in a sum
Column = tuple[int, ...]  # an integer of each of the functions


@dataclass(frozen=True)
class Lifted:
    function: FunctionDefinition
    numbers: tuple[Mapping[str, int], ...]  # by member of its shape, for each of the functions


def shape_key(function: FunctionDefinition) -> FunctionDefinition:
    """Returns the function without its integers. Functions with equal results can be merged."""

    def change(node: Node) -> Node | None:
        match node:
            case Number():
                return Number(0)
            case ArrayLength():
                return ArrayLength(0)
        return None

    nameless: FunctionDefinition = changed(replace(function, name="", comment=""), change)
    return nameless


def numbers_of(function: FunctionDefinition) -> list[Number]:
    return [node for node in walk(function) if isinstance(node, Number)]


def lift(functions: Sequence[FunctionDefinition]) -> Lifted:
    """Merges functions that are equal except for integers."""
    first = functions[0]
    rows = [numbers_of(f) for f in functions]
    columns = [tuple(number.value for number in column) for column in zip(*rows, strict=True)]
    parameters = _Parameters()
    parameters.name_all([number.suggested_name for number in rows[0]], columns)
    left = iter(columns)
    rooms = [max(column) for column in zip(*map(_rooms, functions), strict=True)]
    rooms_left = iter(rooms)

    def change(node: Node) -> Node | None:
        match node:
            case Number():
                return parameters.expressed.get(next(left), node)
            case ArrayLength():
                return ArrayLength(next(rooms_left))
        return None

    members = parameters.members
    numbers = tuple({name: column[i] for name, column in members.items()} for i in range(len(functions)))
    shape = Shape(tuple((name, _c_type(column)) for name, column in members.items())) if members else None
    return Lifted(replace(changed(first, change), shape=shape), numbers)


def with_numbers(function: FunctionDefinition, numbers: Mapping[str, int]) -> FunctionDefinition:
    """Returns a merged function with integers in place of its parameters."""

    def change(node: Node) -> Node | None:
        match node:
            case Name(name) if name in numbers:
                return Number(numbers[name])
            case Linear(terms, constant) if terms and all(name in numbers for name, _ in terms):
                parts = [numbers[name] * _value(count) for name, count in terms]
                return Number(sum(parts, _value(constant)))
        return None

    numbered: FunctionDefinition = changed(function, change)
    return replace(numbered, shape=None)


def _rooms(function: FunctionDefinition) -> list[int]:
    return [node.value for node in walk(function) if isinstance(node, ArrayLength)]


@dataclass
class _Parameters:
    """The parameters of merged functions: as few as express all numbers that differ.

    Indices that differ are often sums of the same steps, those from pixel to pixel and from channel to
    channel: then `first + step * 2` is a place in each of the functions.
    """

    members: dict[str, Column] = field(default_factory=dict)  # by name
    expressed: dict[Column, Count] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)  # of the members, those that are added to others

    def name_all(self, suggested_name: Sequence[str], columns: Sequence[Column]) -> None:
        """Expresses the columns of numbers that differ: places first, which have the steps in them."""
        named: dict[Column, str] = {}
        for base, column in zip(suggested_name, columns, strict=True):
            if len(set(column)) > 1:
                named.setdefault(column, base)
        for column, base in sorted(named.items(), key=lambda item: not item[1].endswith(_PLACE)):
            self.expressed[column] = self._expressed(base, column)
        used = dict.fromkeys(name for column in named for name in _names(self.expressed[column]))
        self.members = {name: self.members[name] for name in used}

    def _expressed(self, base: str, column: Column) -> Count:
        for name, known in self.members.items():
            if known == column:
                return Name(name)
        if base.endswith(_PLACE) and base in self.members:
            return self._place(base, _minus(column, self.members[base]))
        if _FACTOR in base:
            for name in self.steps:
                times = _times(column, self.members[name])
                if times:
                    return Linear(((name, Number(times)),), Number(0))
        return Name(self._added(base, column))

    def _place(self, first: str, beyond: Column) -> Count:
        """Returns the first place plus steps: known ones, or else a new one."""
        for terms in self._sums():
            left = _minus(beyond, *(tuple(n * each for each in self.members[name]) for name, n in terms))
            if len(set(left)) == 1:
                return Linear(((first, Number(1)), *((n, Number(t)) for n, t in terms)), Number(left[0]))
        step = self._added(f"{first.removesuffix(_PLACE)}_step", beyond)
        self.steps.append(step)
        return Linear(((first, Number(1)), (step, Number(1))), Number(0))

    def _sums(self) -> Iterator[tuple[tuple[str, int], ...]]:
        """Yields sums of at most two steps, the shortest first."""
        yield ()
        yield from (((name, n),) for n in _TIMES for name in self.steps)
        for one, other in combinations(self.steps, 2):
            yield from (((one, n), (other, m)) for n in _TIMES for m in _TIMES)

    def _added(self, base: str, column: Column) -> str:
        name = _free(base, self.members)
        self.members[name] = column
        return name


def _minus(column: Column, *others: Column) -> Column:
    return tuple(each - sum(rest) for each, *rest in zip(column, *others, strict=True))


def _times(column: Column, step: Column) -> int:
    """Returns the factor by which the column is a multiple of the step, or 0."""
    factors = {each // s if s and each % s == 0 else 0 for each, s in zip(column, step, strict=True)}
    return factors.pop() if len(factors) == 1 else 0


def _names(count: Count) -> Iterator[str]:
    if isinstance(count, Linear):
        yield from (name for name, _ in count.terms)
    elif isinstance(count, Name):
        yield count.name


def _value(count: Count) -> int:
    assert isinstance(count, Number)
    return count.value


def _free(base: str, taken: Collection[str]) -> str:
    numbered = (base if n == 1 else f"{base}_{n}" for n in count(1))
    return next(name for name in numbered if name not in taken)


def _c_type(column: Sequence[int]) -> str:
    """Returns the smallest type that holds the number of every function."""
    return "int16_t" if all(value in _SHORT for value in column) else "int32_t"
