"""The span of a whole number: its least and greatest value, from which it is known that C does not overflow.

Values of 32 bits and more, sums among them, have no span: whoever makes them says that they fit.
"""

from __future__ import annotations

from aot.ir.types import DType
from codegen.lang.misuse import misuse

Span = tuple[int, int]
_NARROW_BYTES = 2


def span_of(dtype: DType) -> Span | None:
    """The span of what a type holds, where it is narrow."""
    return dtype.limits if dtype.is_integer and dtype.bytes <= _NARROW_BYTES else None


def combined(op: str, a: Span | None, b: Span | None, dtype: DType) -> Span | None:
    """The span of a result. Raises InputError where it is beyond the type in which C computes it."""
    if op in ("<", "=="):
        return 0, 1
    if a is None or b is None or not dtype.is_integer:
        return None
    corners = [_result(op, x, y) for x in a for y in b]
    least, most = min(corners), max(corners)
    if not dtype.limits[0] <= least <= most <= dtype.limits[1]:
        raise misuse(
            f"a result can be from {least:,} to {most:,}, beyond the {8 * dtype.bytes} bits of {dtype.value}",
            'cast("i64", x) computes in 64 bits; clamp(x, low, high) makes a value less',
        )
    return least, most


def _result(op: str, x: int, y: int) -> int:
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
    return min(x, y) if op == "min" else max(x, y)


def joined(a: Span | None, b: Span | None) -> Span | None:
    """The span of one of two."""
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def cast_span(dtype: DType, span: Span | None) -> Span | None:
    """The span of a value that a type takes."""
    if span is None or not dtype.is_integer:
        return span_of(dtype)
    low, high = dtype.limits
    return span if low <= span[0] and span[1] <= high else span_of(dtype)
