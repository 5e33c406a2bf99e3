"""16-bit ints, which some cores have: results that exceed them are computed in 32 bits."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops import ir
from codegen.loops.ranges import range_of

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
