"""The operators of two values, and the type in which C computes an expression."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aot.ir.types import DType
from codegen.loops.ir import Apply, Binary, Cast, Choose, Const, Element, Expr, Index, Load


def _shift_distance(places: int) -> int:
    """Returns a shift distance. Raises OverflowError if it is out of range for 64 bits."""
    if not 0 <= places < 64:
        raise OverflowError(f"a shift by {places}")
    return places


def _divisor(number: int) -> int:
    if number == 0:
        raise OverflowError("a division by 0")
    return number


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: how its text is read, what it computes, and how tightly it binds in a text."""

    syntax: type[ast.AST] | None  # None: it is written as a call
    compute: Callable[[Any, Any], int | float]
    tightness: int  # an operand that binds less tightly is printed in parentheses


COMPARED, ATOM = 1, 8  # the tightness of comparisons, and of anything that never needs parentheses
OPERATORS: Mapping[str, Operator] = {
    "<": Operator(ast.Lt, lambda a, b: int(a < b), COMPARED),
    "==": Operator(ast.Eq, lambda a, b: int(a == b), COMPARED),
    "|": Operator(ast.BitOr, operator.or_, 2),
    "^": Operator(ast.BitXor, operator.xor, 3),
    "&": Operator(ast.BitAnd, operator.and_, 4),
    "<<": Operator(ast.LShift, lambda a, b: a << _shift_distance(b), 5),
    ">>": Operator(ast.RShift, lambda a, b: a >> _shift_distance(b), 5),
    "+": Operator(ast.Add, operator.add, 6),
    "-": Operator(ast.Sub, operator.sub, 6),
    "*": Operator(ast.Mult, operator.mul, 7),
    "//": Operator(ast.FloorDiv, lambda a, b: a // _divisor(b), 7),
    "%": Operator(ast.Mod, lambda a, b: a % _divisor(b), 7),
    "min": Operator(None, min, ATOM),
    "max": Operator(None, max, ATOM),
}
COMPARISONS = ("<", "==")
SHIFTS, DIVISIONS, BITS = ("<<", ">>"), ("//", "%"), ("&", "|", "^")  # of integers only
_WIDEST_FIRST = (DType.F32, DType.U64, DType.I64, DType.U32)  # all others are computed as i32
_UNSIGNED = {DType.I32: DType.U32, DType.I64: DType.U64}
_WHOLE = (DType.I32, DType.I64)


def common_type(a: DType, b: DType) -> DType:
    """Returns the type to which C converts both operands."""
    return next((kind for kind in _WIDEST_FIRST if kind in (a, b)), DType.I32)


_PROMOTED = {kind: common_type(kind, DType.I32) for kind in DType}


def unsigned(kind: DType) -> DType:
    """Returns the unsigned type of the same width."""
    return _UNSIGNED.get(kind, kind)


def wrapped(number: int, kind: DType) -> int:
    """Returns the number of that type that has the same lowest bits."""
    low, high = kind.limits
    return (number - low) % (high - low + 1) + low


def value_type(expr: Expr) -> DType:
    """Returns the type of a value. Types narrower than 32 bits become i32."""
    match expr:
        case Load(place) | Element(place, _):  # first: the most frequent case
            return _PROMOTED[place.buffer.dtype]
        case Const(float()):
            return DType.F32
        case Const(value):
            return next((each for each in _WHOLE if each.limits[0] <= value <= each.limits[1]), DType.U64)
        case Index():
            return DType.I32
        case Cast(dtype, _):
            return _PROMOTED[dtype]
        case Apply(function, _):
            return _PROMOTED[function.result]
        case Choose(_, yes, no):
            return common_type(value_type(yes), value_type(no))
        case Binary(op, left, right):
            return DType.I32 if op in COMPARISONS else operand_type(op, left, right)


def operand_type(op: str, left: Expr, right: Expr) -> DType:
    """Returns the type of an operation's operands. A shift has that of its left operand."""
    kind = value_type(left)
    return kind if op in SHIFTS else common_type(kind, value_type(right))
