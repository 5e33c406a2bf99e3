"""Shifts, bit operations and divisions of integers in C, which leaves some undefined or rounds up."""

from __future__ import annotations

from collections.abc import Callable

from aot.ir.types import DType
from codegen.c.tree import CastTo, Expr, FunctionCall, Group, Helper, Infix, Number
from codegen.loops import ir
from codegen.loops.operators import BITS, DIVISIONS, SHIFTS, operand_type, unsigned
from codegen.loops.ranges import range_of

# 16-bit ints, which some cores have: results that exceed them are computed in 32 bits.

_INT_BYTES = 2  # the minimum size of an int
_LEAST, _MOST = -(2**15), 2**15 - 1
_GROWING = ("+", "-", "*")
_OF_32_BITS = ("<<", "//")  # computed by C after a conversion


def goes_beyond_int(expr: ir.Binary) -> bool:
    """Returns True if both operands may be ints and the result may exceed 16 bits."""
    if expr.op not in _GROWING or not (_is_int(expr.left) and _is_int(expr.right)):
        return False
    span = range_of(expr, {})
    return span is not None and not _LEAST <= span[0] <= span[1] <= _MOST


def _is_int(expr: ir.Expr) -> bool:
    """Returns True if C computes the value as an int, as narrower types are. A loop variable has 32 bits."""
    match expr:
        case ir.Const(int() as value):
            return _LEAST <= value <= _MOST
        case ir.Load(place) | ir.Element(place, _):
            return _is_narrow(place.buffer.dtype)
        case ir.Cast(dtype, _):
            return _is_narrow(dtype)
        case ir.Apply(function, _):
            return _is_narrow(function.result)
        case ir.Choose(_, yes, no):
            return _is_int(yes) and _is_int(no)
        case ir.Binary("<" | "=="):
            return True
        case ir.Binary(op, left, right):
            return op not in _OF_32_BITS and _is_int(left) and _is_int(right) and not goes_beyond_int(expr)
    return False


def _is_narrow(dtype: DType) -> bool:
    return dtype.bytes <= _INT_BYTES


WHOLE_OPERATORS = frozenset((*SHIFTS, *BITS, *DIVISIONS))
_LEAST_BITS = 16  # of C's int


def _divided(kind: DType) -> Helper:
    name = f"quotient_down_{kind.value}"
    text = f"""\
/* a / b, rounded down; b is not 0. */
static inline {kind.c_name} {name}({kind.c_name} a, {kind.c_name} b)
{{
    const {kind.c_name} quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}}
"""
    return Helper(name, text)


def _remainder(kind: DType) -> Helper:
    name = f"remainder_down_{kind.value}"
    text = f"""\
/* What a / b, rounded down, leaves: it has the sign of b, which is not 0. */
static inline {kind.c_name} {name}({kind.c_name} a, {kind.c_name} b)
{{
    const {kind.c_name} rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}
"""
    return Helper(name, text)


_SIGNED = (DType.I32, DType.I64)
_HELPERS = {(op, kind): made(kind) for op, made in (("//", _divided), ("%", _remainder)) for kind in _SIGNED}


def integer_operator(expr: ir.Binary, to_c: Callable[[ir.Expr], Expr]) -> Expr:
    """Returns the operation in C, defined for all operands that `ranges.py` accepts."""
    op, kind = expr.op, operand_type(expr.op, expr.left, expr.right)
    power = _power_of_two(expr.right)
    a, b = to_c(expr.left), to_c(expr.right)
    if op == "<<":
        return _shifted_left(kind, a, b)
    if op == "//" and power is not None:
        op, b = ">>", Number(power, "number")
    elif op == "%" and power is not None:
        op, b = "&", Number(2**power - 1, "number")
    elif (op, kind) in _HELPERS:
        helper = _HELPERS[op, kind]
        return FunctionCall(helper.name, (a, b), helper)
    is_short = isinstance(b, Number) and b.value < _LEAST_BITS
    if op == ">>" and not is_short:  # a narrow type becomes an int, which has 16 bits on some cores
        a = CastTo(kind.c_name, a)
    return Group(Infix("/" if op == "//" else op, a, b))


def _shifted_left(kind: DType, a: Expr, b: Expr) -> Expr:
    """Returns the shift in an unsigned type, whose overflow is defined."""
    plain = unsigned(kind)
    shifted = Infix("<<", CastTo(plain.c_name, a), b)
    return Group(shifted) if plain is kind else CastTo(kind.c_name, Group(shifted))


def _power_of_two(expr: ir.Expr) -> int | None:
    match expr:
        case ir.Const(int() as value) if value > 0 and value & (value - 1) == 0:
            return value.bit_length() - 1
    return None
