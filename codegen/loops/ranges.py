"""Integer value ranges (least, greatest), which prove that C defines a computation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from aot.ir.types import DType
from codegen.loops.axes import Extents, least, most, statements
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Cast,
    Choose,
    Const,
    Element,
    Expr,
    Index,
    Load,
    Proc,
    Store,
    parts_of,
)
from codegen.loops.operators import DIVISIONS, SHIFTS, operand_type, value_type

Range = tuple[int, int]


def type_range(kind: DType) -> Range:
    """Returns the range of an integer type."""
    return (0, 1) if kind is DType.BOOL else kind.limits


def _corners(compute: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """Returns a range function for an operation whose extremes occur at the operands' extremes."""

    def found(a: Range, b: Range) -> Range:
        each = [compute(x, y) for x in a for y in b]
        return min(each), max(each)

    return found


def _remainder(a: Range, b: Range) -> Range:
    """Returns the range of a remainder, which has the sign of the divisor, as in NumPy."""
    if b[1] < 0:
        return b[0] + 1, 0
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)


def _both(a: Range, b: Range) -> Range:
    """Returns the range of a bitwise and. A non-negative operand bounds the result."""
    tops = [top for low, top in (a, b) if low >= 0]
    return (0, min(tops)) if tops else _of_bits(a, b)


def _either(a: Range, b: Range) -> Range:
    low, high = _of_bits(a, b)
    return max(low, a[0], b[0]) if low >= 0 else low, high


def _of_bits(a: Range, b: Range) -> Range:
    """Returns the range of all numbers with at most as many bits as those of either range."""
    low, high = min(a[0], b[0]), max(a[1], b[1])
    most_bits = max(high.bit_length(), (~low).bit_length() if low < 0 else 0)
    return (-(2**most_bits) if low < 0 else 0), 2**most_bits - 1


_RANGES: Mapping[str, Callable[[Range, Range], Range]] = {
    "+": _corners(lambda x, y: x + y),
    "-": _corners(lambda x, y: x - y),
    "*": _corners(lambda x, y: x * y),
    "min": _corners(min),
    "max": _corners(max),
    "<": lambda a, b: (0, 1),
    "==": lambda a, b: (0, 1),
    "<<": _corners(lambda x, y: x << y),
    ">>": _corners(lambda x, y: x >> y),
    "//": _corners(lambda x, y: x // y),
    "%": _remainder,
    "&": _both,
    "|": _either,
    "^": _of_bits,
}


def result_range(op: str, a: Range, b: Range) -> Range:
    """Returns the range of the exact result; the operands must be valid."""
    return _RANGES[op](a, b)


def fault(op: str, a: Range, b: Range, kind: DType) -> tuple[str, str]:
    """Describes an operation that C does not define, and the fix; both empty if all operands are valid."""
    said = f"{b[0]:,}" if b[0] == b[1] else f"{b[0]:,} to {b[1]:,}"
    last = 8 * kind.bytes - 1
    if op in SHIFTS and not 0 <= b[0] <= b[1] <= last:
        return f"a shift by {said}: {kind.value} can be shifted by 0 to {last}", f"clamp(n, 0, {last})"
    if op in DIVISIONS and b[0] <= 0 <= b[1]:
        if b[0] == b[1]:
            return "a division by 0", ""
        return f"a division by {said}, which includes 0", "maximum(d, 1) is never 0"
    if op == "//" and result_range(op, a, b)[1] > kind.limits[1]:
        return f"a division of {a[0]:,} by -1, outside the {8 * kind.bytes} bits of {kind.value}", (
            'cast("i64", x) computes in 64 bits; clamp(x, low, high) limits a value'
        )
    return "", ""


def range_of(expr: Expr, extents: Extents) -> Range | None:
    """Returns the range of a value inside loops; extents may be unknown. Returns None for a float."""
    if value_type(expr) is DType.F32:
        return None
    match expr:
        case Const(value):
            return int(value), int(value)
        case Index(affine):
            is_known = affine.variables <= extents.keys()
            return (least(affine, extents), most(affine, extents)) if is_known else DType.I32.limits
        case Load(place) | Element(place, _):
            return type_range(place.buffer.dtype)
        case Cast(dtype, value):
            return _cast_range(dtype, range_of(value, extents))
        case Apply(function, _):
            return type_range(function.result)
        case Choose(_, yes, no):
            a, b = range_of(yes, extents), range_of(no, extents)
            return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        case Binary(op, left, right):
            return _binary_range(op, left, right, extents)


def _cast_range(dtype: DType, inner: Range | None) -> Range:
    low, high = type_range(dtype)
    return inner if inner is not None and low <= inner[0] <= inner[1] <= high else (low, high)


def _binary_range(op: str, left: Expr, right: Expr, extents: Extents) -> Range:
    a, b = range_of(left, extents), range_of(right, extents)
    kind = operand_type(op, left, right)
    if a is None or b is None:
        return 0, 1  # comparison of floats
    if fault(op, a, b, kind)[0]:
        return kind.limits
    low, high = result_range(op, a, b)
    return (low, high) if kind.limits[0] <= low <= high <= kind.limits[1] else kind.limits


def undefined_operand(proc: Proc) -> tuple[str, str]:
    """Describes a shift, division or lookup whose operand may be out of range, and its fix; empty if none."""
    for stmt, extents in statements(proc.body, {}):
        if isinstance(stmt, Store | Accumulate):
            for expr in _inner_first(stmt.value):
                what, hint = _undefined(expr, extents)
                if what:
                    return f"{proc.name} has {what}", hint
    return "", ""


def _inner_first(expr: Expr) -> Iterator[Expr]:
    for part in parts_of(expr):
        yield from _inner_first(part)
    yield expr


def _undefined(expr: Expr, extents: Extents) -> tuple[str, str]:
    match expr:
        case Element(place, number):
            span = range_of(number, extents)
            low = None if span is None else span[0] + least(place.index, extents)
            high = None if span is None else span[1] + most(place.index, extents)
            if low is None or high is None or low < 0 or high >= place.buffer.elements:
                name, last = place.buffer.name, place.buffer.elements - 1
                said = (
                    f"a computed index of {name} ranges from {low} to {high}, but its last element is {last}"
                )
                return said, f"clamp(n, 0, {last})"
        case Binary(op, left, right) if op in (*SHIFTS, *DIVISIONS):
            a, b, kind = range_of(left, extents), range_of(right, extents), operand_type(op, left, right)
            if a is None or b is None or kind is DType.F32:
                return f"an operation {op} of floats", 'cast("i32", x) converts to an integer'
            return fault(op, a, b, kind)
    return "", ""
