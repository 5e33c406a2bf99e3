"""Merges functions that differ only in integers, which become members of a struct.

    for xb in 24: ... x + xb * 16 ...              for xb in xb_count: ... x + xb * x_per_xb ...
    for xb in 12: ... x + xb * 32 ...      ->      with (24, 16) and (12, 32)

Integers that differ together are one parameter, even with different meanings. `with_numbers` substitutes the
numbers of a function again, which restores the original.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from codegen.c.tree import FunctionDefinition, Name, Number, Room, Shape
from codegen.c.tree_walk import Node, changed, walk

_SHORT = range(-(2**15), 2**15)


@dataclass(frozen=True)
class Lifted:
    function: FunctionDefinition
    numbers: tuple[Mapping[str, int], ...]  # by member of its shape, for each of the functions


def skeleton(function: FunctionDefinition) -> FunctionDefinition:
    """Returns the function without its integers. Functions with equal results can be merged."""

    def change(node: Node) -> Node | None:
        match node:
            case Number():
                return Number(0)
            case Room():
                return Room(0)
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
    names = _parameter_names([number.says for number in rows[0]], columns)
    left = iter(columns)
    rooms = [max(column) for column in zip(*map(_rooms, functions), strict=True)]
    rooms_left = iter(rooms)

    def change(node: Node) -> Node | None:
        match node:
            case Number():
                column = next(left)
                return Name(names[column]) if column in names else node
            case Room():
                return Room(next(rooms_left))
        return None

    numbers = tuple({name: column[i] for column, name in names.items()} for i in range(len(functions)))
    shape = Shape(tuple((name, _c_type(column)) for column, name in names.items())) if names else None
    return Lifted(replace(changed(first, change), shape=shape), numbers)


def with_numbers(function: FunctionDefinition, numbers: Mapping[str, int]) -> FunctionDefinition:
    """Returns a merged function with integers in place of its parameters."""

    def change(node: Node) -> Node | None:
        return Number(numbers[node.name]) if isinstance(node, Name) and node.name in numbers else None

    numbered: FunctionDefinition = changed(function, change)
    return replace(numbered, shape=None)


def _rooms(function: FunctionDefinition) -> list[int]:
    return [node.value for node in walk(function) if isinstance(node, Room)]


def _parameter_names(says: Sequence[str], columns: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
    """Returns names for the numbers that differ, after their first position."""
    names: dict[tuple[int, ...], str] = {}
    for base, column in zip(says, columns, strict=True):
        if len(set(column)) > 1 and column not in names:
            names[column] = _free(base, names.values())
    return names


def _free(base: str, taken: Collection[str]) -> str:
    numbered = (base if n == 1 else f"{base}_{n}" for n in count(1))
    return next(name for name in numbered if name not in taken)


def _c_type(column: Sequence[int]) -> str:
    """Returns the smallest type that holds the number of every function."""
    return "int16_t" if all(value in _SHORT for value in column) else "int32_t"
