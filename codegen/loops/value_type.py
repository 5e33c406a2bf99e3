"""The type in which C computes an expression, and conversion of a number to a type."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops.ir import Apply, Binary, Cast, Choose, Const, Element, Expr, Index, Load

SHIFTS = ("<<", ">>")
DIVISIONS = ("//", "%")
BITS = ("&", "|", "^")
_ASKED = ("<", "==")
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
            return DType.I32 if op in _ASKED else operand_type(op, left, right)


def operand_type(op: str, left: Expr, right: Expr) -> DType:
    """Returns the type of an operation's operands. A shift has that of its left operand."""
    kind = value_type(left)
    return kind if op in SHIFTS else common_type(kind, value_type(right))
