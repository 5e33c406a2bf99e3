"""Executes the C tree of a layer for one row, to find the functions that it calls and their pointers.

The calls of a table are exactly those of the C code, because that code is executed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from aot.ir.types import DType
from codegen.c.fills import FillHelper
from codegen.c.layers import HOOK
from codegen.c.tree import (
    CastTo,
    Define,
    DefinePointers,
    DefineShape,
    DefineTable,
    Do,
    Enumerator,
    Expr,
    FunctionCall,
    FunctionDefinition,
    Group,
    If,
    Infix,
    Literal,
    Name,
    Number,
    Prefix,
    Return,
    Stmt,
    Subscript,
    Ternary,
)

_SIZES = {f"{dtype.c_name} *": dtype.bytes for dtype in DType}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "*": operator.mul,
        "/": operator.floordiv,  # of non-negative numbers
        "%": operator.mod,
        "<": operator.lt,
        ">": operator.gt,
        "==": operator.eq,
        "&&": lambda a, b: bool(a) and bool(b),
        "||": lambda a, b: bool(a) or bool(b),
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """A pointer: a byte offset into a memory, and the size of its elements."""

    memory: int
    offset: int
    size: int

    def moved(self, elements: int) -> Place:
        return replace(self, offset=self.offset + elements * self.size)


@dataclass(frozen=True)
class Called:
    """A call in a layer."""

    function: str
    places: tuple[tuple[Place, ...], ...]  # of each parameter that is a pointer or an array of pointers
    numbers: tuple[float, ...]  # the other arguments
    shape: Mapping[str, int]  # members of the struct with a shared function's numbers
    fill: FillHelper | None = None  # None unless it is such a helper


CallPath = tuple[int, ...]  # position of a call in the layer


class _ReturnedError(Exception):
    """Ends the execution of a function."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class LayerRunner:
    """Executes the layers of one model."""

    roots: Mapping[str, Place]  # arenas, inputs, outputs and constants by C name
    accessors: Mapping[str, FunctionDefinition]

    def calls(self, layer: FunctionDefinition, row: int) -> dict[CallPath, Called]:
        """Returns the calls for that row, in order, by position."""
        found: dict[CallPath, Called] = {}
        try:
            for path, called in self._body(layer.body, {"row": row, "run": None}, ()):
                found[path] = called
        except _ReturnedError:
            pass
        return found

    def _body(
        self, body: Sequence[Stmt], known: dict[str, Any], at: CallPath
    ) -> Iterator[tuple[CallPath, Called]]:
        for number, stmt in enumerate(body):
            path = (*at, number)
            match stmt:
                case Define(variable, value):
                    known[variable.name] = self._value(value, known)
                case DefinePointers(variable, rows):
                    known[variable.name] = tuple(self._value(row, known) for row in rows)
                case DefineTable(_, name, numbers):
                    known[name] = numbers
                case DefineShape(_, name, members):
                    known[name] = dict(members)
                case If(condition, then, otherwise):
                    is_so = bool(self._value(condition, known))
                    yield from self._body(then if is_so else otherwise, known, (*path, int(is_so)))
                case Return(value):
                    raise _ReturnedError(None if value is None else self._value(value, known))
                case Do(FunctionCall(function) as call) if function != HOOK:
                    yield path, _called(call, [self._value(each, known) for each in call.arguments])
                case Do():
                    pass
                case _:
                    raise AssertionError(f"a layer has an unsupported statement: {stmt}")

    def _value(self, expr: Expr, known: Mapping[str, Any]) -> Any:
        match expr:
            case Name(name):
                return known[name] if name in known else self.roots[name]
            case Number(value) | Enumerator(_, value):
                return value
            case Literal(text):
                return float(text.rstrip("f"))
            case Group(inner):
                return self._value(inner, known)
            case CastTo(c_type, value):
                found = self._value(value, known)
                size = _SIZES.get(c_type.removeprefix("const "))
                return replace(found, size=size) if size else found
            case Prefix("&", operand):
                return self._value(operand, known)
            case Ternary(condition, yes, no):
                return self._value(yes if self._value(condition, known) else no, known)
            case Subscript(base, index):
                return self._value(base, known)[self._value(index, known)]
            case Infix(op, left, right):
                return _combined(op, self._value(left, known), self._value(right, known))
            case FunctionCall(function, arguments):
                return self._accessed(function, [self._value(each, known) for each in arguments])
        raise AssertionError(f"a layer has an unsupported expression: {expr}")

    def _accessed(self, name: str, arguments: Sequence[Any]) -> Any:
        accessor = self.accessors[name]
        known = dict(zip((param.name for param in accessor.params), arguments, strict=True))
        try:
            for _ in self._body(accessor.body, known, ()):
                pass
        except _ReturnedError as returned:
            return returned.value
        raise AssertionError(f"{name} returns nothing")


def _combined(op: str, left: Any, right: Any) -> Any:
    if op in "+-":
        sign = 1 if op == "+" else -1
        return left.moved(sign * right) if isinstance(left, Place) else left + sign * right
    return _OPERATORS[op](left, right)


def _called(call: FunctionCall, arguments: Sequence[Any]) -> Called:
    places: list[tuple[Place, ...]] = []
    numbers: list[float] = []
    shape: Mapping[str, int] = {}
    for each in arguments:
        match each:
            case Place():
                places.append((each,))
            case tuple():
                places.append(each)
            case dict():
                shape = each
            case _:
                numbers.append(each)
    fill = call.helper if isinstance(call.helper, FillHelper) else None
    return Called(call.function, tuple(places), tuple(numbers), shape, fill)
