"""Integer spans (least, greatest), which prove that C code does not overflow.

Values of 32 bits and more, including sums, have no span. The code that computes them must guarantee that they
fit.
"""

from __future__ import annotations

from aot.ir.types import DType
from codegen.lang.misuse import misuse
from codegen.loops.ranges import Range, fault, result_range, type_range

_NARROW_BYTES = 2


def span_of(dtype: DType) -> Range | None:
    """Returns the span of a narrow type, or None."""
    return type_range(dtype) if dtype is not DType.F32 and dtype.bytes <= _NARROW_BYTES else None


def combined(op: str, a: Range | None, b: Range | None, dtype: DType) -> Range | None:
    """Returns the span of a result. Raises InputError if it exceeds the type in which C computes it."""
    if op in ("<", "=="):
        return 0, 1
    if a is None or b is None or not dtype.is_integer:
        return None
    return _within(result_range(op, a, b), dtype)


def whole_span(
    op: str, a: Range | None, b: Range | None, limits: tuple[DType, DType], kind: DType
) -> Range | None:
    """Returns the span of a shift, bit operation or division. An operand's type is its default span.

    Raises InputError if C does not define the result. A left shift of an operand without a span may lose
    bits.
    """
    left = type_range(limits[0]) if a is None else a
    right = type_range(limits[1]) if b is None else b
    what, hint = fault(op, left, right, kind)
    if what:
        raise misuse(what, hint)
    return None if op == "<<" and a is None else _within(result_range(op, left, right), kind)


def _within(span: Range, dtype: DType) -> Range | None:
    """Returns the span if the type holds it. Unsigned types wrap, so a larger span becomes None."""
    least, most = span
    if dtype.limits[0] == 0 and not 0 <= least <= most <= dtype.limits[1]:
        return None
    if not dtype.limits[0] <= least <= most <= dtype.limits[1]:
        raise misuse(
            f"a result can reach {least:,} to {most:,}, outside the {8 * dtype.bytes} bits of {dtype.value}",
            'cast("i64", x) computes in 64 bits; clamp(x, low, high) limits a value',
        )
    return span


def joined(a: Range | None, b: Range | None) -> Range | None:
    """Returns the span that covers both."""
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def cast_span(dtype: DType, span: Range | None) -> Range | None:
    """Returns the span of a value converted to a type."""
    if span is None or not dtype.is_integer:
        return span_of(dtype)
    low, high = dtype.limits
    return span if low <= span[0] and span[1] <= high else span_of(dtype)
